"""The portal: one folder, called a room, per subject.

A room imports only rooms below it (the order stands in pyproject.toml and is checked). Inside a
room: doors (views, api, tasks, admin, commands) call services that write and selectors that read;
both stand on models. Settings are read through django.conf.
"""
