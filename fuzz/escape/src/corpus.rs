//! Finds on disk.
//!
//! A file is its head, one `// NAME: VALUE` a line, then the statements with an empty line between, the last of them the end. What aims at a witness is kept as
//! `$FILE`, `$TCP`, `$UDP`, `$NAME`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::body::Body;
use crate::configuration::{Configuration, Walls, hole_name, hole_named};

/// A find on disk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Kept {
    /// Against what it was found.
    pub configuration: Configuration,
    /// Seed and number of the body it was.
    pub origin: String,
    /// What is left of that.
    pub body: Body,
}

/// The folder of the corpus in the repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Writes a find; gives its path.
///
/// # Errors
///
/// When it cannot be written.
pub fn write(folder: &Path, kept: &Kept) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let Configuration { walls, reopen } = kept.configuration;
    let hole = reopen.map_or("none", hole_name);
    let statements = kept.body.statements.iter().chain([&kept.body.end]).map(|text| format!("{text}\n"));
    let text = format!(
        "// walls: {}\n// reopen: {hole}\n// origin: {}\n\n{}",
        walls.name(),
        kept.origin,
        statements.collect::<Vec<_>>().join("\n")
    );
    let path = folder.join(format!("{}-{hole}-{}.js", walls.name(), kept.origin.replace(' ', "-")));
    fs::write(&path, text)?;
    Ok(path)
}

/// Reads a find.
///
/// # Errors
///
/// When it cannot be read or is none.
pub fn read(path: &Path) -> io::Result<Kept> {
    let text = fs::read_to_string(path)?;
    let none = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is no find", path.display()));
    let (head, rest) = text.split_once("\n\n").ok_or_else(none)?;
    let of = |name: &str| head.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(": ")).ok_or_else(none);
    let reopen = match of("reopen")? {
        "none" => None,
        name => Some(hole_named(name).ok_or_else(none)?),
    };
    let configuration = Configuration { walls: Walls::named(of("walls")?).ok_or_else(none)?, reopen };
    let mut statements: Vec<String> = rest.split("\n\n").map(|text| text.trim_end().to_owned()).collect();
    let end = statements.pop().ok_or_else(none)?;
    Ok(Kept { configuration, origin: of("origin")?.to_owned(), body: Body { statements, end } })
}

/// Every find of a folder, by name.
///
/// # Errors
///
/// When one cannot be read.
pub fn all(folder: &Path) -> io::Result<Vec<(PathBuf, Kept)>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "js"));
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|kept| (path, kept))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = std::env::temp_dir().join(format!("codemode-corpus-{}", std::process::id()));
        let configuration = Configuration { walls: Walls::Realm, reopen: hole_named("stack") };
        for number in 0..50 {
            let kept = Kept { configuration, origin: format!("seed 5 body {number}"), body: Body::make(5, number) };
            let path = write(&folder, &kept).expect("it is ours");
            assert_eq!(read(&path).expect("a find"), kept);
        }
        assert_eq!(all(&folder).expect("finds").len(), 50);
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
