"""Pages of the room: `clusters` to look at, `moves` that change something, `new_job` to begin one."""
