"""``python -m slm2``: the command line, where its script is not on the path."""

from slm2.cli import main

if __name__ == "__main__":
    main()
