//! Which walls stand while bodies are tried.

use codemode::launch::{Danger, Hole, LaunchConfig, Trial, Wall, WallSet};

/// What bodies run against.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walls {
    /// The guest realm and nothing else: an object of the main realm in the hands of a body is a find, and everything behind it lies open.
    Realm,
    /// The body is in the main realm, which is barren, and nothing else stands.
    Barren,
    /// Every wall.
    All,
}

/// Walls, and a hole that is open on purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Configuration {
    /// What stands.
    pub walls: Walls,
    /// What the bridge usually closes and now leaves open.
    pub reopen: Option<Hole>,
}

impl Walls {
    /// All of them.
    pub const ALL: [Walls; 3] = [Walls::Realm, Walls::Barren, Walls::All];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Walls::Realm => "realm",
            Walls::Barren => "barren",
            Walls::All => "all",
        }
    }

    /// What the word stands for.
    pub fn named(name: &str) -> Option<Walls> {
        Walls::ALL.into_iter().find(|walls| walls.name() == name)
    }

    fn set(self) -> WallSet {
        match self {
            Walls::Realm => WallSet::NONE.with(Wall::GuestRealm),
            Walls::Barren => WallSet::NONE.with(Wall::BarrenMainRealm),
            Walls::All => WallSet::ALL,
        }
    }
}

/// The word for a hole.
pub fn hole_name(hole: Hole) -> &'static str {
    match hole {
        Hole::Import => "import",
        Hole::Stack => "stack",
    }
}

/// What the word stands for.
pub fn hole_named(name: &str) -> Option<Hole> {
    [Hole::Import, Hole::Stack].into_iter().find(|hole| hole_name(*hole) == name)
}

impl Configuration {
    /// As a launcher takes it.
    pub fn launch(self) -> LaunchConfig {
        let danger =
            Danger { walls: self.walls.set(), trial: Some(Trial { reopen: self.reopen, ..Trial::default() }), ..Danger::default() };
        LaunchConfig { danger, ..LaunchConfig::default() }
    }
}
