//! A program that says it is the Node that its folder is named for (`…/v22.12.0/node`), and that refuses the flags which that Node did not know.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // By the name that it was started under: the file itself may be linked into many folders.
    let version = std::env::args_os().next().and_then(|name| {
        let path = PathBuf::from(name);
        let folder = path.parent()?.file_name()?;
        Some(folder.to_string_lossy().into_owned())
    });
    let Some(version) = version else {
        return ExitCode::from(2);
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("{version}");
        return ExitCode::SUCCESS;
    }
    let unknown = if is_stable(&version) { "--experimental-permission" } else { "--permission" };
    if arguments.iter().any(|flag| flag == unknown) {
        eprintln!("node: bad option: {unknown}");
        return ExitCode::from(9);
    }
    ExitCode::SUCCESS
}

/// From 22.13 on the flag has its short name.
fn is_stable(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let line = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    line >= (22, 13)
}
