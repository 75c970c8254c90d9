//! The source tree as text.

use std::fs;
use std::path::Path;

use codemode_tests::host;

/// Folders that are made, not written.
const MADE: [&str; 5] = ["target", "node_modules", "dist", "corpus", "artifacts"];

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// From the root of the repository, with slashes.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl File {
    /// Its lines without comments and without the text between quotes. Not a parser: enough to look for words in.
    pub fn code(&self) -> String {
        let mut code = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            let mut quoted = false;
            let mut last = ' ';
            let mut characters = line.chars().peekable();
            while let Some(character) = characters.next() {
                if !quoted && character == '/' && characters.peek() == Some(&'/') {
                    break;
                }
                if character == '"' && last != '\\' && !(last == '\'' && characters.peek() == Some(&'\'')) {
                    quoted = !quoted;
                } else if !quoted {
                    code.push(character);
                }
                last = character;
            }
            code.push('\n');
        }
        code
    }
}

/// A file of the repository.
///
/// # Panics
///
/// When it is not there.
pub fn read(path: &str) -> String {
    fs::read_to_string(host::repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file with one of these extensions.
pub fn files(extensions: &[&str]) -> Vec<File> {
    let root = host::repository();
    let mut all = Vec::new();
    walk(&root, &root, extensions, &mut all);
    all.sort_by(|one, two| one.path.cmp(&two.path));
    all
}

fn walk(root: &Path, folder: &Path, extensions: &[&str], all: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // Hidden ones hold no source but the CI's, which has no extension.
            if !name.starts_with('.') && !MADE.contains(&name.as_str()) {
                walk(root, &path, extensions, all);
            }
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|word| extension == *word)) {
            let from_root = path.strip_prefix(root).expect("it is below the root");
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            all.push(File { path: from_root.to_string_lossy().into_owned(), text });
        }
    }
}

/// The words of a code.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|character: char| !character.is_alphanumeric() && character != '_').filter(|word| !word.is_empty())
}

/// The names that stand right behind `prefix`: one, or those of a list in braces.
pub fn names_after(prefix: &str, code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        let list = match rest.strip_prefix('{') {
            Some(list) => top_level(list),
            None => vec![rest],
        };
        names.extend(list.into_iter().filter_map(|part| words(part).next().map(str::to_owned)));
    }
    names
}

/// The parts of a list in braces, its inner lists left in one piece.
fn top_level(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut begin) = (0, 0);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&list[begin..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts
}

#[test]
fn the_reader_sees_what_it_looks_for() {
    let text = "// unsafe in a comment\nlet s = \"unsafe in a text\"; /* x */\nunsafe { }\nuse crate::{run::Run, gate::{A, B}, launch};\nuse crate::bridge;\n";
    let file = File { path: String::new(), text: text.to_owned() };
    assert_eq!(words(&file.code()).filter(|word| *word == "unsafe").count(), 1);
    assert_eq!(names_after("crate::", &file.code()), ["run", "gate", "launch", "bridge"]);
}
