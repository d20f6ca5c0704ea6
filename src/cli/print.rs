//! Standard output and standard error, as every verb writes to them.
//!
//! A reader that has seen enough (`… | head`) changes nothing: what is left to say is let go, files are written, and
//! the exit code is the verdict's. Any other trouble (a full disk) is kept until the verb is done, and is then an
//! error: see [`trouble`].

use std::io::{self, ErrorKind, Stdout, Write};
use std::sync::OnceLock;

use anstream::AutoStream;

static TROUBLE: OnceLock<io::Error> = OnceLock::new();

/// Standard output; styles are taken off where it is no terminal.
pub(super) fn out() -> Out<AutoStream<Stdout>> {
    Out(anstream::stdout())
}

/// The same for what has no styles and may be long.
pub(super) fn plain() -> Out<Stdout> {
    Out(io::stdout())
}

/// Why standard output could not be written to, if it was not that its reader left.
pub(super) fn trouble() -> Option<&'static io::Error> {
    out().flush().ok();
    TROUBLE.get()
}

/// A standard output that never fails its writer.
pub(super) struct Out<W>(W);

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes).unwrap_or_else(keep);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().unwrap_or_else(keep);
        Ok(())
    }
}

fn keep(error: io::Error) {
    if error.kind() != ErrorKind::BrokenPipe {
        let _ = TROUBLE.set(error);
    }
}

/// `println!` to [`out`].
macro_rules! say {
    ($($told:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut $crate::cli::print::out(), format_args!("{}\n", format_args!($($told)*)));
    }};
}

/// `eprintln!` that takes it quietly where nobody reads: there is nowhere left to say so.
macro_rules! complain {
    ($($told:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut anstream::stderr(), format_args!("{}\n", format_args!($($told)*)));
    }};
}

pub(super) use {complain, say};
