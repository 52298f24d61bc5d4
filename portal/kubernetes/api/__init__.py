"""Clusters under /api/v1: `clusters` to look at, `moves` that change something, `jobs` to weigh."""
