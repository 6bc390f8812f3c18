"""python -m parley"""

from parley.cli import main

if __name__ == "__main__":
    main()
