//! What a stand-in for Node with the jail object's part of the conversation does: it is started as `recorded_node` under the name `…/VERSION/node`, with a
//! [`Recorded`] beside it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// Steps of that conversation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Somebody asks for its version.
    Version,
    /// It has its plan and has reported nothing.
    Plan,
    /// It has reported stage 1.
    StageOne,
    /// It has its order and has not said that it is armed.
    Order,
    /// It is a template, has a fork order and has not answered. What is started for a run is honest.
    Template,
}

/// What it does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Recorded {
    /// When.
    pub at: Moment,
    /// What then.
    pub fails: Fault,
}

/// The file beside the program.
pub const FILE: &str = "recorded.json";

impl Recorded {
    /// Puts `program` into `folder` under the name of a Node, with what it is to do; gives its path.
    ///
    /// # Panics
    ///
    /// When the folder cannot be written to.
    pub fn put(self, program: &str, folder: &Path) -> PathBuf {
        let place = folder.join("v24.0.0");
        fs::create_dir(&place).expect("a folder of its own");
        let node = place.join("node");
        // A copy: a link may not be allowed between file systems.
        fs::copy(program, &node).expect("the program can be copied");
        fs::write(place.join(FILE), serde_json::to_vec(&self).expect("words are JSON")).expect("it is ours");
        node
    }
}
