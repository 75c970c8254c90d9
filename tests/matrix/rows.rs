//! The rows: attacks as data, in `attacks/*.toml`.

use std::collections::BTreeSet;
use std::fs;

use codemode::launch::Wall;
use codemode_tests::host;
use serde::Deserialize;

/// Lines of Node that claims speak of.
pub const LINES: [u32; 4] = [20, 22, 24, 26];

/// One attack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Attack {
    /// Its name: group, then what it is about.
    pub id: String,
    /// What it does, in a few words.
    pub what: String,
    /// Numbers of the bodies of `tests/escape/bodies` that it is.
    #[serde(default)]
    pub covers: Vec<u32>,
    /// How it is made.
    #[serde(flatten)]
    pub means: Means,
    /// How it is noticed from outside.
    pub witness: String,
    /// Walls that stop it alone. `WALL`, or `WALL LINE LINE…` where that holds on these lines of Node only; `supervisor` is one.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Where its control cannot succeed: a line of Node, `root`, `user`, `spawn`, `template`, or `all`, then the reason after a colon.
    #[serde(default)]
    pub no_control: Vec<String>,
    /// Why a wall that one might expect does not claim it.
    #[serde(default)]
    pub note: String,
    /// Where the control of a body runs.
    #[serde(default)]
    pub control: Control,
    /// Its wall clock in milliseconds, where not the usual.
    #[serde(default)]
    pub wall_ms: Option<u64>,
}

/// Where the control of a body runs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// In a context as the manual of `node:vm` shows it.
    #[default]
    Context,
    /// In a context of somebody careless: objects of the main realm inside, code from strings and the default loader on.
    Careless,
    /// In a child without walls: for what no realm could stop.
    Child,
    /// For a body of the main realm: in a plain Node. Else that is a child without walls.
    Plain,
}

/// How an attack is made; exactly one of these.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// A body as a model would send it.
    Guest(String),
    /// The same, a file of `tests/escape/bodies`, which takes what it finds by the runner's words.
    GuestFile(String),
    /// A body that has been handed the main realm's global object as `lost`.
    Lost(String),
    /// A body in the main realm, with `process` and `require`.
    Main(String),
    /// An act of the probes.
    Act(String),
    /// System calls, one a line; `given` the walls in the control come before a colon in the first.
    Calls(String),
    /// A child of the attacker's own: the steps of a script, one a line.
    Wire(String),
    /// Two bodies, one run after the other, with a line of dashes between.
    Pair(String),
}

/// One claim on one line of Node.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Claimed {
    /// A wall of the child.
    Wall(usize),
    /// The supervisor's own rules.
    Supervisor,
}

impl Claimed {
    /// The name in reports and tables.
    pub fn name(self) -> &'static str {
        match self {
            Claimed::Wall(index) => Wall::ALL[index].name(),
            Claimed::Supervisor => "supervisor",
        }
    }

    /// Every one, in the order of the table.
    pub fn all() -> Vec<Claimed> {
        (0..Wall::ALL.len()).map(Claimed::Wall).chain([Claimed::Supervisor]).collect()
    }

    fn named(name: &str) -> Option<Claimed> {
        Claimed::all().into_iter().find(|claimed| claimed.name() == name)
    }
}

impl Attack {
    /// The group, the first part of the name.
    pub fn group(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// The claims on a line of Node.
    ///
    /// # Panics
    ///
    /// When a claim names no wall or no line.
    pub fn claims_on(&self, line: u32) -> Vec<Claimed> {
        let claim = |text: &String| {
            let mut words = text.split_whitespace();
            let name = words.next().unwrap_or_default();
            let claimed = Claimed::named(name).unwrap_or_else(|| panic!("{}: no wall {name}", self.id));
            let lines: Vec<u32> = words.map(|word| word.parse().expect("a line of Node")).collect();
            assert!(lines.iter().all(|line| LINES.contains(line)), "{}: {text}", self.id);
            (lines.is_empty() || lines.contains(&line)).then_some(claimed)
        };
        let mut claims: Vec<Claimed> = self.claims.iter().filter_map(claim).collect();
        claims.sort_unstable();
        claims
    }

    /// Why the control cannot succeed under these circumstances, if that is said.
    pub fn excuse(&self, circumstances: &[&str]) -> Option<&str> {
        self.no_control.iter().find_map(|text| {
            let (on, why) = text.split_once(':').expect("a reason after a colon");
            on.split_whitespace().any(|word| word == "all" || circumstances.contains(&word)).then_some(why.trim())
        })
    }
}

#[derive(Deserialize)]
struct File {
    attack: Vec<Attack>,
}

/// Every row, group by group.
///
/// # Panics
///
/// When the data is not sound: a name twice, a body of the corpus in no row.
pub fn all() -> Vec<Attack> {
    let folder = host::repository().join("tests/matrix/attacks");
    let mut files: Vec<_> = fs::read_dir(folder).expect("the folder of the rows").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a readable file");
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        rows.extend(file.attack);
    }
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(names.insert(row.id.clone()), "{} stands there twice", row.id);
        for line in LINES {
            row.claims_on(line);
        }
    }
    rows
}

/// Numbers of bodies of the corpus that no row covers.
pub fn uncovered(rows: &[Attack]) -> Vec<u32> {
    let covered: BTreeSet<u32> = rows.iter().flat_map(|row| row.covers.iter().copied()).collect();
    let folder = host::repository().join("tests/escape/bodies");
    let bodies = fs::read_dir(folder).expect("the corpus").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut missing: Vec<u32> = bodies.filter_map(|name| name.get(..3)?.parse().ok()).filter(|number| !covered.contains(number)).collect();
    missing.sort_unstable();
    missing
}
