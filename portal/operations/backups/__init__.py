"""Backups: the whole installation in one folder, and back again.

| module | holds |
|---|---|
| `manifest` | what a backup says of itself: when, of which tables, how long its audit chain, checksums |
| `databases` | copying and replacing a database, PostgreSQL and SQLite |
| `making` | a backup, while everybody works on |
| `restoring` | the way back, checked before and after |

The secret key is in no backup, on purpose: what is sealed stays sealed, so whoever finds a backup
opens no second factor, webhook or kubeconfig with it. Keep the key apart, and as long as backups.
"""
