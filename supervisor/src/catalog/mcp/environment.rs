//! What a server gets of our environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What programs need to be found, to find their files, and to know words, time and terminal. The rest may hold a gateway's secrets: an entry asks for what it wants in
/// its own `env`.
const KEPT: [&str; 9] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"];
const KEPT_PREFIX: &str = "LC_";

/// The environment of a server whose entry asks for `own`, out of `ours`.
pub(super) fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let is_kept = |name: &OsString| name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with(KEPT_PREFIX));
    let mut environment: BTreeMap<OsString, OsString> = ours.filter(|(name, _)| is_kept(name)).collect();
    environment.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stays_here_unless_the_entry_asks_for_it() {
        let ours = ["PATH", "HOME", "LC_ALL", "FAKE_API_KEY", "NODE_OPTIONS", "LD_PRELOAD"].map(|name| (name.into(), "x".into()));
        let own = BTreeMap::from([("TOKEN".to_owned(), "t".to_owned()), ("PATH".to_owned(), "/own".to_owned())]);
        let given = environment(ours.into_iter(), &own);
        let pairs: Vec<_> = given.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        assert_eq!(pairs, [("HOME", "x"), ("LC_ALL", "x"), ("PATH", "/own"), ("TOKEN", "t")]);
    }
}
