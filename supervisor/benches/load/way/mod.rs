//! How callers reach a supervisor.

mod mcp;
mod socket;

use std::path::{Path, PathBuf};
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
    /// Through an MCP server on pipes.
    Mcp,
    /// Through a socket, as a gateway.
    Socket,
}

impl WayName {
    /// All of them.
    pub const ALL: [WayName; 3] = [WayName::Library, WayName::Socket, WayName::Mcp];
}

impl FromStr for WayName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "library" => Ok(WayName::Library),
            "mcp" => Ok(WayName::Mcp),
            "socket" => Ok(WayName::Socket),
            _ => Err(()),
        }
    }
}

/// A way that is open. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Way {
    /// In the same process.
    Library(Supervisor, Arc<dyn Catalog>),
    /// One session of a server.
    Mcp(Arc<mcp::Session>),
    /// One connection to a server.
    Socket(Arc<socket::Connection>),
}

impl Way {
    /// Opens it.
    ///
    /// # Panics
    ///
    /// When it cannot be opened.
    pub async fn open(name: WayName, arguments: &Arguments) -> Way {
        match name {
            WayName::Library => Way::Library(supervisor(arguments), demo()),
            WayName::Mcp => Way::Mcp(Arc::new(mcp::Session::start(arguments).await)),
            WayName::Socket => Way::Socket(Arc::new(socket::Connection::start(arguments).await)),
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
            Way::Mcp(session) => session.run(piece).await,
            Way::Socket(connection) => connection.run(piece).await,
        }
    }

    /// The process that supervises.
    pub fn pid(&self) -> u32 {
        match self {
            Way::Library(..) => std::process::id(),
            Way::Mcp(session) => session.pid(),
            Way::Socket(connection) => connection.pid(),
        }
    }
}

/// One with a template.
fn supervisor(arguments: &Arguments) -> Supervisor {
    let config = LaunchConfig { node: arguments.node.clone(), ..LaunchConfig::default() };
    Supervisor::builder().launch(config).launcher_choice(LauncherChoice::Template).build().unwrap_or_else(|error| panic!("{error}"))
}

/// A few scripted tools.
fn demo() -> Arc<dyn Catalog> {
    Arc::new(FileCatalog::open(tools()).unwrap_or_else(|error| panic!("{error}")))
}

/// Their file.
fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository");
    here.join("examples/demo.json")
}

/// The program, built like this benchmark.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_codemode"))
}
