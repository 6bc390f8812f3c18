"""Tools for experts' models: the operator's allow list, the task's folder, servers over MCP, and the loop of a turn.

    allow.py         which servers there are (the operator's file, never a specification)
    folder.py        the task's folder: made from an archive, held, compared, packed
    client.py        starts servers and calls their tools
    loop.py          a language model's steps inside one turn
    files_server.py  the server that ships: files in one folder
    launch.py        what a server is started through: a clean environment, and an end with its starter's
"""
