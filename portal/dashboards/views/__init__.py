"""The pages of the room, by what they are about. Each reads once through the selectors and draws."""
