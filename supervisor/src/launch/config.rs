//! What a launcher is told once, for all its children.

use std::path::PathBuf;

use super::Wall;

/// How children are started and walled.
#[derive(Clone, Debug, Default)]
pub struct LaunchConfig {
    /// The Node program; `None`: `CODEMODE_NODE`, else the PATH.
    pub node: Option<PathBuf>,
    /// What happens when a wall cannot be raised.
    pub policy: WallPolicy,
    /// Machine code may be made. Faster integer loops, one wall (`no_exec_memory`) less.
    pub jit: bool,
    /// Test-only powers.
    #[cfg(any(test, feature = "danger"))]
    pub danger: Danger,
}

/// What happens when a wall cannot be raised.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WallPolicy {
    /// The walls every host has are required: realms, permission model, `no_new_privs`, seccomp, descriptors, rlimits, an unprivileged uid.
    /// Namespaces, empty root, Landlock and `no_exec_memory` are raised where the host allows it and reported where it does not.
    #[default]
    Default,
    /// Every wall is required, whole.
    Strict,
}

/// Which way children are started.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LauncherChoice {
    /// From a template; a Node start where that does not work on this host.
    #[default]
    Auto,
    /// The same, said by name.
    Template,
    /// A Node start for each run.
    Spawn,
}

/// A set of walls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WallSet(u16);

impl WallSet {
    /// No wall.
    pub const NONE: WallSet = WallSet(0);
    /// Every wall.
    pub const ALL: WallSet = WallSet((1 << Wall::ALL.len()) - 1);

    /// This set with `wall`.
    #[must_use]
    pub const fn with(self, wall: Wall) -> WallSet {
        WallSet(self.0 | (1 << wall as u16))
    }

    /// This set without `wall`.
    #[must_use]
    pub const fn without(self, wall: Wall) -> WallSet {
        WallSet(self.0 & !(1 << wall as u16))
    }

    /// Whether `wall` is in it.
    pub const fn has(self, wall: Wall) -> bool {
        self.0 & (1 << wall as u16) != 0
    }
}

/// Test-only powers: they take walls away, so that a test can show what a wall does.
#[cfg(any(test, feature = "danger"))]
#[derive(Clone, Debug)]
pub struct Danger {
    /// Walls to raise; the others are `off`.
    pub walls: WallSet,
    /// Run the body in the main realm, with `process` and `require`. Needs both realm walls off.
    pub main_realm: bool,
    /// Start this program with these arguments in place of Node, without any jail; its descriptor 3 is the bridge.
    pub stand_in: Option<(PathBuf, Vec<String>)>,
    /// Renew a template after this many forks.
    pub forks_per_template: Option<u32>,
    /// Run bodies behind a bridge that is made for attack trials.
    pub trial: Option<Trial>,
    /// Start Node without the jail object: whatever it is then has the object's part of the conversation to itself.
    pub unjailed: bool,
}

/// Test-only: a bridge that raises those of the two realm walls that [`Danger::walls`] has, and no other, and puts a mark on the main realm's objects. Without
/// `barren_main_realm` code from strings is allowed in the main realm.
#[cfg(any(test, feature = "danger"))]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Trial {
    /// A hole of `node:vm` that is left open.
    pub reopen: Option<Hole>,
    /// The guest realm is lost: bodies stay in it, and find the main realm's global object there as `lost`.
    pub lost: bool,
}

/// Test-only: what the bridge closes and a trial can leave open.
#[cfg(any(test, feature = "danger"))]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hole {
    /// `import` is neither refused nor answered from inside the realm: Node's own callback answers.
    Import,
    /// Node's own formatter makes the texts of stacks.
    Stack,
}

#[cfg(any(test, feature = "danger"))]
impl Trial {
    /// The property that every main-realm object has in a trial with a guest realm.
    pub const MARK_NAME: &str = "realmMark";
    /// Its value.
    pub const MARK: &str = "main-realm-3e9b41d7";

    /// The first bytes of the bundle, which tell the bridge what to be.
    pub(super) fn magic(self, walls: WallSet, template: bool) -> [u8; 8] {
        let hole = match self.reopen {
            None => 0,
            Some(Hole::Import) => 8,
            Some(Hole::Stack) => 16,
        };
        let hole = hole | if self.lost { 32 } else { 0 };
        let bits = u8::from(walls.has(Wall::GuestRealm)) | u8::from(walls.has(Wall::BarrenMainRealm)) << 1 | u8::from(template) << 2 | hole;
        let mut magic = *b"CMTRIAL@";
        magic[7] += bits;
        magic
    }
}

#[cfg(any(test, feature = "danger"))]
impl Default for Danger {
    fn default() -> Danger {
        Danger { walls: WallSet::ALL, main_realm: false, stand_in: None, forks_per_template: None, trial: None, unjailed: false }
    }
}

impl LaunchConfig {
    /// The walls to raise.
    pub(super) fn walls(&self) -> WallSet {
        #[cfg(any(test, feature = "danger"))]
        let asked = self.danger.walls;
        #[cfg(not(any(test, feature = "danger")))]
        let asked = WallSet::ALL;
        if self.jit { asked.without(Wall::NoExecMemory) } else { asked }
    }

    /// How many forks one template serves; `usual`, unless a test lowers it.
    pub(super) fn forks_per_template(&self, usual: u32) -> u32 {
        #[cfg(any(test, feature = "danger"))]
        let usual = self.danger.forks_per_template.unwrap_or(usual);
        usual
    }
}
