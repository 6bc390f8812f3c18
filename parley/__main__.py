"""python -m parley"""

from parley.cli.app import main

if __name__ == "__main__":
    main()
