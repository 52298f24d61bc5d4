"""Pages about oneself and about people."""
