fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["events", file] => mocktrial::cli::events::run(file),
        _ => Err(std::io::Error::other("usage: mocktrial events FILE")),
    }
}
