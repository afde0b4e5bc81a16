# Short names for the project's tasks; `cargo xtask` lists all.

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
