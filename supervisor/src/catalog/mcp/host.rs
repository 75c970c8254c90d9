//! What a server may ask us: whether we are there, and for its folders, if it has any. Everything else is refused.

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ErrorCode, Implementation,
    ProtocolVersion,
};
#[expect(deprecated, reason = "servers of today ask for roots")]
use rmcp::model::{ListRootsRequestMethod, ListRootsResult, Root, RootsCapabilities};
use rmcp::service::{NotificationContext, RequestContext};
use tokio::sync::watch;

/// Our side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// As file:// addresses; none: it is not told that it could ask.
    pub(super) roots: Vec<String>,
    pub(super) changed: watch::Sender<u64>,
}

impl Host {
    /// For a server that is told of these folders, by path or file:// address.
    pub(super) fn of(roots: &[String], changed: &watch::Sender<u64>) -> Host {
        Host { roots: roots.iter().map(|root| address(root)).collect(), changed: changed.clone() }
    }
}

/// A path as an address: all bytes but those that stand for themselves are written as numbers.
fn address(root: &str) -> String {
    if root.starts_with("file://") {
        return root.to_owned();
    }
    let mut address = "file://".to_owned();
    for byte in root.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

#[expect(deprecated, reason = "servers of today ask for roots")]
impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        // What is not declared a server has no reason to ask for.
        capabilities.roots = (!self.roots.is_empty()).then(RootsCapabilities::default);
        ClientConfig::new(capabilities, Implementation::new("codemode", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        if self.roots.is_empty() {
            return Err(ErrorData::method_not_found::<ListRootsRequestMethod>());
        }
        Ok(ListRootsResult::new(self.roots.iter().map(Root::new).collect()))
    }

    async fn create_elicitation(&self, _: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        Err(refused())
    }

    async fn on_custom_request(&self, _: CustomRequest, _: RequestContext<RoleClient>) -> Result<CustomResult, ErrorData> {
        Err(refused())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|changes| *changes += 1);
    }
}

fn refused() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client answers nothing of that kind", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_declared_only_when_there_are_any() {
        let (changed, _) = watch::channel(0);
        let declared = |roots: &[String]| serde_json::to_value(Host::of(roots, &changed).get_info().capabilities).unwrap();
        assert_eq!(declared(&[]), serde_json::json!({}));
        assert_eq!(declared(&["/srv".to_owned()]), serde_json::json!({"roots": {}}));
    }

    #[test]
    fn a_path_becomes_an_address() {
        assert_eq!(address("/srv/a b/é?#"), "file:///srv/a%20b/%C3%A9%3F%23");
        assert_eq!(address("file:///srv"), "file:///srv");
    }
}
