"""Reads for pages: frozen answers over all rooms.

`common` holds names, holdings and lending; then one module per page.
"""
