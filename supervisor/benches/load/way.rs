//! How callers reach a supervisor.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use codemode::catalog::{Catalog, FileCatalog};
use codemode::launch::{LaunchConfig, LauncherChoice};
use codemode::{RunRequest, Supervisor};

use crate::arguments::Arguments;
use crate::mix::Piece;

/// A way by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WayName {
    /// In the same process.
    Library,
}

impl FromStr for WayName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "library" => Ok(WayName::Library),
            _ => Err(()),
        }
    }
}

/// A way that is open. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Way {
    /// In the same process.
    Library(Supervisor, Arc<dyn Catalog>),
}

impl Way {
    /// Opens it.
    ///
    /// # Panics
    ///
    /// When it cannot be opened.
    pub fn open(name: WayName, arguments: &Arguments) -> Way {
        match name {
            WayName::Library => Way::Library(supervisor(arguments), demo()),
        }
    }

    /// Runs a body to its end: its value in JSON, or the code of its error.
    pub async fn run(&self, piece: &Piece) -> Result<String, String> {
        match self {
            Way::Library(supervisor, catalog) => {
                let request = RunRequest::new(piece.body).with_limits(piece.limits());
                let report = supervisor.run(request, Arc::clone(catalog)).await;
                match report.error {
                    None => Ok(report.value.text().to_owned()),
                    Some(error) => Err(error.code.as_str().to_owned()),
                }
            }
        }
    }

    /// The process that supervises.
    pub fn pid(&self) -> u32 {
        match self {
            Way::Library(..) => std::process::id(),
        }
    }
}

/// One with a template.
pub fn supervisor(arguments: &Arguments) -> Supervisor {
    let config = LaunchConfig { node: arguments.node.clone(), ..LaunchConfig::default() };
    Supervisor::builder().launch(config).launcher_choice(LauncherChoice::Template).build().unwrap_or_else(|error| panic!("{error}"))
}

/// A few scripted tools.
pub fn demo() -> Arc<dyn Catalog> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository");
    Arc::new(FileCatalog::open(&here.join("examples/demo.json")).unwrap_or_else(|error| panic!("{error}")))
}
