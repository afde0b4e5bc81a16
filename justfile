# Short names for the project's chores; `cargo xtask` alone lists them.

test:
    cargo xtask test

ci:
    cargo xtask ci

tidy:
    cargo xtask tidy

bless:
    cargo xtask bless

docs:
    cargo xtask docs

reproduce:
    cargo run --release -- reproduce raqm

bench:
    cargo run --release -- bench
