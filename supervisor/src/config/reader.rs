//! Taking values of the right type out of the tree, with the path on every fault.

use serde_json::Value;

use super::error::ConfigProblem;
use super::raw::{Fault, Kind, Node};
use crate::catalog::quoted;

/// A value and the path that leads to it.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) node: &'a Node,
    pub(super) path: String,
}

impl<'a> At<'a> {
    pub(super) fn root(node: &'a Node) -> At<'a> {
        At { node, path: String::new() }
    }

    pub(super) fn fault(&self, problem: ConfigProblem) -> Fault {
        Fault::new(self.node.at, &*self.path, problem)
    }

    pub(super) fn wrong(&self, wanted: impl Into<String>) -> Fault {
        self.fault(ConfigProblem::WrongValue { wanted: wanted.into(), given: given(self.node) })
    }

    /// The members of an object whose keys are all among `known`.
    pub(super) fn fields(&self, known: &[&str], what: &str) -> Result<Fields<'a>, Fault> {
        let members = self.entries(what)?;
        for (key, _, at) in &members {
            if !known.contains(&key.as_str()) {
                let problem = ConfigProblem::UnknownKey { key: key.clone(), known: known.join(", ") };
                return Err(Fault::new(*at, &*self.path, problem));
            }
        }
        Ok(Fields { members })
    }

    /// The members of an object whose keys are names: key, value, and where the key stands.
    pub(super) fn entries(&self, what: &str) -> Result<Vec<(String, At<'a>, usize)>, Fault> {
        let Kind::Object(members) = &self.node.kind else { return Err(self.wrong(what)) };
        let mut entries: Vec<(String, At<'a>, usize)> = Vec::with_capacity(members.len());
        for member in members {
            if entries.iter().any(|(key, ..)| *key == member.key) {
                return Err(Fault::new(member.at, &*self.path, ConfigProblem::DoubleKey { key: member.key.clone() }));
            }
            entries.push((member.key.clone(), At { node: &member.value, path: below(&self.path, &member.key) }, member.at));
        }
        Ok(entries)
    }

    pub(super) fn items(&self, what: &str) -> Result<Vec<At<'a>>, Fault> {
        let Kind::Array(items) = &self.node.kind else { return Err(self.wrong(what)) };
        Ok(items.iter().enumerate().map(|(index, node)| At { node, path: format!("{}[{index}]", self.path) }).collect())
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match &self.node.kind {
            Kind::Scalar(Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Text without control characters.
    pub(super) fn text(&self, what: &str) -> Result<String, Fault> {
        match &self.node.kind {
            Kind::Scalar(Value::String(text)) if !text.is_empty() && !text.contains(['\0', '\n', '\r']) => Ok(text.clone()),
            _ => Err(self.wrong(what)),
        }
    }

    pub(super) fn texts(&self, what: &str) -> Result<Vec<String>, Fault> {
        self.items(what)?.iter().map(|item| item.text(what)).collect()
    }

    /// A map of names to texts that may be empty.
    pub(super) fn text_map(&self, what: &str) -> Result<Vec<(String, String)>, Fault> {
        self.entries(what)?
            .into_iter()
            .map(|(key, at, _)| match &at.node.kind {
                Kind::Scalar(Value::String(text)) if !text.contains('\0') => Ok((key, text.clone())),
                _ => Err(at.wrong("a text")),
            })
            .collect()
    }

    /// A whole number, written as one: `8000`, not `"8000"`, not `8000.7`.
    pub(super) fn whole_number(&self) -> Result<i64, Fault> {
        let number = match &self.node.kind {
            Kind::Scalar(Value::Number(number)) => number,
            _ => return Err(self.wrong("a whole number")),
        };
        if let Some(number) = number.as_i64() {
            return Ok(number);
        }
        // Above what an integer holds, and a number all the same: the clamp will say so.
        let huge = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() >= 9e18);
        huge.map(|number| if number > 0.0 { i64::MAX } else { i64::MIN }).ok_or_else(|| self.wrong("a whole number"))
    }
}

/// The members of an object with known keys.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    members: Vec<(String, At<'a>, usize)>,
}

impl<'a> Fields<'a> {
    /// Members whose keys may be any.
    pub(super) fn of(members: Vec<(String, At<'a>, usize)>) -> Fields<'a> {
        Fields { members }
    }

    pub(super) fn get(&self, key: &str) -> Option<&At<'a>> {
        self.members.iter().find(|(name, ..)| name == key).map(|(_, at, _)| at)
    }
}

fn below(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{}]", quoted(key)),
    }
}

fn given(node: &Node) -> String {
    match &node.kind {
        Kind::Array(_) => "a list".to_owned(),
        Kind::Object(_) => "an object".to_owned(),
        Kind::Scalar(Value::String(text)) => format!("the text {}", quoted(text)),
        Kind::Scalar(value) => value.to_string(),
    }
}
