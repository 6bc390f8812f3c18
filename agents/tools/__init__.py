"""Tools for experts' models: the operator's allow list (allow), the task's folder (folder, paths), servers over MCP
(client, launch), a model's steps inside one turn (loop), and the server that ships (files_server)."""
