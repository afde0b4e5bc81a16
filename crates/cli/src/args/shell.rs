//! Arguments of `forebay completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay completions bash > ~/.local/share/bash-completion/completions/forebay
  forebay completions zsh > ~/.zfunc/_forebay
  forebay completions fish > ~/.config/fish/completions/forebay.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell that will load the completion script.
    pub(crate) shell: Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay man | man -l -
  forebay man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Directory in which to write one manual page per command (default: print the main page to stdout).
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
