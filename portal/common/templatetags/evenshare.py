"""Formats and pictures every page uses; loaded everywhere without asking."""

from django import template

register = template.Library()
