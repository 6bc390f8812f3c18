"""Tests of what a task's folder has to do with git."""
