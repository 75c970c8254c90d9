//! Which tools a run may see and call.
//!
//! The rule: what the allow list has, minus what the deny list has; a missing allow list has everything, an empty one nothing.
//! What is left out is in no search, and a `describe` or `call` of it says `denied` and not one word about the tool. [`Policed`] puts the rule around a
//! catalog; the rules of several scopes take their place in [`Policy`].

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::catalog::{CallCode, CallContext, CallFailure, Catalog, CatalogSummary, Permission, SearchQuery, Tool, ToolSet};

/// A pattern of tool ids: `*` stands for any text, also an empty one and also across `:`, `?` for one character; the rest is taken literally and in exact
/// letter case.
///
/// ```
/// use codemode::gate::Glob;
///
/// assert!(Glob::new("mcp:*:read").matches("mcp:files:read"));
/// assert!(!Glob::new("read").matches("mcp:files:read"));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Glob(Vec<char>);

impl Glob {
    /// A pattern. Every text is one.
    pub fn new(pattern: &str) -> Glob {
        Glob(pattern.chars().collect())
    }

    /// Whether it stands for the whole of `id`. Takes at most pattern × id steps, whatever the two are.
    pub fn matches(&self, id: &str) -> bool {
        let id: Vec<char> = id.chars().collect();
        let (mut in_pattern, mut in_id) = (0, 0);
        // Where to go on when the text after the last star does not fit where it was tried.
        let mut star = None;
        while in_id < id.len() {
            match self.0.get(in_pattern) {
                Some('*') => {
                    star = Some((in_pattern, in_id));
                    in_pattern += 1;
                }
                Some(letter) if *letter == '?' || *letter == id[in_id] => {
                    in_pattern += 1;
                    in_id += 1;
                }
                _ => {
                    let Some((after, taken)) = star else { return false };
                    in_pattern = after + 1;
                    in_id = taken + 1;
                    star = Some((after, taken + 1));
                }
            }
        }
        self.0[in_pattern..].iter().all(|letter| *letter == '*')
    }
}

impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.iter().collect::<String>())
    }
}

/// What may be seen and called. The default lets everything through.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policy {
    /// `None`: everything. An empty list: nothing.
    pub allow: Option<Vec<Glob>>,
    /// Wins over `allow`.
    pub deny: Vec<Glob>,
}

impl Policy {
    /// Whether the tool with this id may be seen and called.
    pub fn permits(&self, id: &str) -> bool {
        let any = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(id));
        self.allow.as_deref().is_none_or(any) && !any(&self.deny)
    }
}

impl Permission for Policy {
    fn permits(&self, id: &str) -> bool {
        Policy::permits(self, id)
    }
}

/// A catalog behind a policy.
#[derive(Debug)]
pub struct Policed {
    inner: Arc<dyn Catalog>,
    visible: ToolSet,
    /// What the policy takes away: kept to tell a denied tool from one that is not there.
    hidden: ToolSet,
}

impl Policed {
    /// `inner`, of which `tools` are all the tools, as far as `policy` permits.
    pub fn new(inner: Arc<dyn Catalog>, tools: &ToolSet, policy: &Policy) -> Policed {
        let (visible, hidden) = tools.tools().iter().cloned().partition(|tool| policy.permits(&tool.id));
        Policed { inner, visible: part(visible), hidden: part(hidden) }
    }

    /// The tools that the policy leaves, in the order of the catalog.
    pub fn tools(&self) -> &ToolSet {
        &self.visible
    }
}

fn part(tools: Vec<Arc<Tool>>) -> ToolSet {
    match ToolSet::new(tools) {
        Ok(set) => set,
        // A part of a set has each id at most once, as the set has.
        Err(double) => unreachable!("{double}"),
    }
}

#[async_trait]
impl Catalog for Policed {
    fn summary(&self) -> CatalogSummary {
        CatalogSummary { catalog_size: self.visible.tools().len(), sources: self.visible.count_by_source(), ..self.inner.summary() }
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        Ok(self.visible.search(query))
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let failure = match self.visible.resolve(id) {
            Ok(tool) => return Ok(Arc::clone(tool)),
            Err(failure) => failure,
        };
        // A bare name that several permitted tools share stays ambiguous; it lists permitted ids only.
        Err(if failure.code == CallCode::UnknownTool && self.hidden.means_any(id) { CallFailure::denied(id) } else { failure })
    }

    async fn available(&self, tool: &Arc<Tool>) -> Result<(), CallFailure> {
        if self.visible.position(&tool.id).is_none() {
            return Err(CallFailure::denied(&tool.id));
        }
        self.inner.available(tool).await
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        if self.visible.position(&tool.id).is_none() {
            return Err(CallFailure::denied(&tool.id));
        }
        self.inner.call(tool, args, context).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FileCatalog;

    #[test]
    fn a_glob_stands_for_the_whole_id() {
        let matches = |pattern: &str, id: &str| Glob::new(pattern).matches(id);
        for (pattern, id) in
            [("*", ""), ("*", "a:b"), ("a:*", "a:"), ("*:read", "mcp:x:read"), ("a?c", "aéc"), ("*a*b*", "xaybz"), ("", ""), ("a*a", "aba")]
        {
            assert!(matches(pattern, id), "{pattern} {id}");
        }
        for (pattern, id) in [("", "a"), ("a", "ab"), ("b", "ab"), ("a*", "ba"), ("A", "a"), ("?", ""), ("a*a", "a"), ("*ab", "abx")] {
            assert!(!matches(pattern, id), "{pattern} {id}");
        }
    }

    #[test]
    fn a_glob_of_many_stars_takes_no_time() {
        let pattern = format!("{}b", "a*".repeat(200));
        assert!(!Glob::new(&pattern).matches(&"a".repeat(2_000)));
    }

    #[test]
    fn a_missing_allow_list_has_all_and_an_empty_one_nothing() {
        let globs = |all: &[&str]| all.iter().map(|one| Glob::new(one)).collect::<Vec<_>>();
        assert!(Policy::default().permits("demo:echo"));
        assert!(!Policy { allow: Some(vec![]), deny: vec![] }.permits("demo:echo"));
        assert!(!Policy { allow: Some(globs(&["*"])), deny: globs(&["*:echo"]) }.permits("demo:echo"));
        assert!(Policy { allow: Some(globs(&["x", "demo:*"])), deny: globs(&["y"]) }.permits("demo:echo"));
    }

    fn policed(deny: &str) -> Policed {
        let tool = |id: &str, name: &str| {
            format!(r#"{{"id": "{id}", "name": "{name}", "description": "secret words", "parameters": {{"type": "object"}}}}"#)
        };
        let tools = format!("[{}, {}, {}]", tool("a:read", "read"), tool("b:read", "read"), tool("a:write", "write"));
        let file = Arc::new(FileCatalog::from_str(&tools, "t").unwrap());
        let policy = Policy { allow: None, deny: vec![Glob::new(deny)] };
        let inner: Arc<dyn Catalog> = Arc::clone(&file) as _;
        Policed::new(inner, file.tools(), &policy)
    }

    async fn code(catalog: &Policed, id: &str) -> Option<CallCode> {
        catalog.describe(id).await.err().map(|failure| failure.code)
    }

    #[tokio::test]
    async fn what_is_denied_is_nowhere_and_says_nothing_of_itself() {
        let catalog = policed("a:write");
        for id in ["a:write", "write", " a:write\n", "A:WRITE", "Write"] {
            let failure = catalog.describe(id).await.unwrap_err();
            assert_eq!(failure.code, CallCode::Denied, "{id:?}");
            assert!(!failure.message.contains("secret") && failure.data.is_null(), "{failure:?}");
        }
        assert_eq!(code(&catalog, "a:WRIT").await, Some(CallCode::UnknownTool));
        assert_eq!(code(&catalog, "A:READ").await, Some(CallCode::UnknownTool), "letter case counts for what is there");
        let near = catalog.describe("a:writ").await.unwrap_err();
        assert!(!near.message.contains("a:write"), "{}", near.message);
        let query = SearchQuery { query: "write secret words".into(), limit: None };
        assert_eq!(catalog.search(&query).await.unwrap().len(), 2);
        assert_eq!(catalog.summary().catalog_size, 2);
        let tool = Arc::new(Tool::new(crate::catalog::Source::Client, "t", "write", "", serde_json::json!({})).with_id("a:write"));
        let context = CallContext { run_id: "r".into(), seq: 1 };
        assert_eq!(catalog.call(&tool, Value::Null, &context).await.unwrap_err().code, CallCode::Denied);
    }

    #[tokio::test]
    async fn a_bare_name_means_what_is_left_of_it() {
        assert_eq!(code(&policed("none"), "read").await, Some(CallCode::AmbiguousTool));
        assert_eq!(policed("b:*").describe("read").await.unwrap().id, "a:read");
        assert_eq!(code(&policed("*:read"), "read").await, Some(CallCode::Denied));
    }
}
