//! One attack body.

use std::fmt::Write;

use crate::grammar::{Chance, Grammar};

const HEAD: &str = include_str!("prelude.js");
const TAIL: &str = include_str!("tail.js");

/// Of how many bodies one may hold `import`. Such a body is refused where the token rule stands, so more of them would only make others fewer.
const IMPORTS_ONE_IN: usize = 12;
const IMPORT_THEME: &str = "theme:import";
const FEWEST: usize = 3;
const MORE: usize = 9;

/// A body: statements between a head that collects what they get hold of and an end that cashes it in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Body {
    /// Each stands alone: any of them can be left out.
    pub statements: Vec<String>,
    /// How it ends.
    pub end: String,
}

/// Where the witnesses of this host are: what `$FILE`, `$TCP`, `$UDP` and `$NAME` stand for in a body.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Path of the canary file.
    pub file: String,
    /// Port of the TCP listener.
    pub tcp: u16,
    /// Port of the UDP socket.
    pub udp: u16,
    /// Name of the abstract socket.
    pub name: String,
}

impl Body {
    /// Body `number` of `seed`.
    pub fn make(seed: u64, number: u64) -> Body {
        let chance = &mut Chance::of(seed, number);
        let grammar = Grammar::get();
        let imports = chance.below(IMPORTS_ONE_IN) == 0;
        let all: Vec<&str> = grammar.themes().into_iter().filter(|theme| *theme != IMPORT_THEME).collect();
        let mut themes: Vec<&str> = (0..=chance.below(3)).map(|_| *chance.pick(&all)).collect();
        if imports {
            themes.push(IMPORT_THEME);
        }
        let count = FEWEST + chance.below(MORE);
        let statements = (0..count).map(|_| {
            let theme = *chance.pick(&themes);
            grammar.text(theme, imports, chance)
        });
        let statements = statements.collect();
        Body { statements, end: grammar.text("end", imports, chance) }
    }

    /// Its text, with its aim filled in.
    pub fn text(&self, aim: &Aim) -> String {
        let mut text = String::with_capacity(8 << 10);
        // The first line of the head says what it is; a body does not need it.
        text.push_str(HEAD.split_once('\n').map_or(HEAD, |(_, rest)| rest));
        for statement in &self.statements {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{statement}");
        }
        text.push_str(TAIL);
        text.push_str(&self.end);
        text.replace("$FILE", &aim.file)
            .replace("$TCP", &aim.tcp.to_string())
            .replace("$UDP", &aim.udp.to_string())
            .replace("$NAME", &aim.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_number_make_the_same_body_again() {
        assert_eq!(Body::make(3, 14), Body::make(3, 14));
        assert_ne!(Body::make(3, 14), Body::make(3, 15));
        assert_ne!(Body::make(3, 14), Body::make(4, 14));
    }

    #[test]
    fn few_bodies_hold_an_import() {
        let with = (0..600).filter(|number| Body::make(1, *number).statements.iter().any(|text| text.contains("import"))).count();
        assert!((10..90).contains(&with), "{with}");
    }
}
