//! Parse, run, exit code. Nothing is started before the verb is known.

fn main() -> std::process::ExitCode {
    mocktrial::cli::main()
}
