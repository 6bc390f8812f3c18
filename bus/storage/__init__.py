"""What lies under the streams: room on the disk, direct reads, the index of sessions, and how entries are packed."""
