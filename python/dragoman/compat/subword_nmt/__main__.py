"""`python -m dragoman.compat.subword_nmt` is the program `subword-nmt`."""

from .subword_nmt import main

if __name__ == "__main__":
    main()
