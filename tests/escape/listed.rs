//! The lists of system calls as the kernel keeps them: every number tried by native code, each in a process of its own, compared with the data files.

use std::collections::BTreeMap;

use codemode::launch::{Filtered, Probes, Swept, syscall_name};
use codemode_jail::wire::{Argument, Call};
use codemode_tests::{host, rig};
use serde_json::Value;

/// Beyond the last number of any kernel.
const LAST: u32 = 520;
/// x32 numbers have this bit.
const X32: u32 = 0x4000_0000;
/// As many calls as fit into one plan beside the filters.
const AT_ONCE: usize = 700;

/// `uretprobe` and `uprobe` of x86_64. Newer kernels make them themselves, from a page of their own where somebody with the right to it traces this process, and let
/// them past every filter (`seccomp` in `kernel/seccomp.c` knows the first since 6.14, the second since 6.18). From anywhere else they do nothing: the process gets
/// SIGILL, which an armed one takes once, or the call ENXIO.
const PAST_EVERY_FILTER: [u32; 2] = [335, 336];

/// What a filter does with a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// The kernel carries it out, or says itself why not.
    Allowed,
    /// The filter answers ENOSYS.
    Refused,
    /// The jail's handler names it and ends the process.
    Named,
    /// The kernel ends the process at once.
    Killed,
    /// No filter was asked, and nothing was done.
    Past,
}

fn answer(number: u32, swept: Swept) -> Answer {
    let unfiltered = !swept.ended() && swept.status.is_some() && swept.errno != Some(libc::ENOSYS.unsigned_abs());
    if cfg!(target_arch = "x86_64") && PAST_EVERY_FILTER.contains(&number) && unfiltered {
        return Answer::Past;
    }
    match swept {
        Swept { off_list: Some(named), .. } if swept.ended() => {
            assert_eq!(named, number, "the handler names another call");
            Answer::Named
        }
        _ if swept.ended() => Answer::Killed,
        Swept { errno: Some(errno), .. } if errno == libc::ENOSYS.unsigned_abs() => Answer::Refused,
        Swept { status: None, .. } => panic!("nothing was heard of call {number}"),
        _ => Answer::Allowed,
    }
}

struct Lists {
    data: Value,
    numbers: BTreeMap<String, u32>,
}

impl Lists {
    fn read() -> Lists {
        let path = host::repository().join(format!("supervisor/seccomp/{}.json", std::env::consts::ARCH));
        let data: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the data file")).expect("it is JSON");
        let numbers = (0..LAST).filter_map(|number| Some((syscall_name(number)?.to_owned(), number))).collect();
        Lists { data, numbers }
    }

    fn rules(&self, list: &str) -> Vec<&Value> {
        self.data[list]["filter"].as_array().expect("a list").iter().collect()
    }

    fn number(&self, rule: &Value) -> u32 {
        self.numbers[rule["syscall"].as_str().expect("a name")]
    }

    fn on(&self, list: &str, number: u32, args: [u64; 6]) -> bool {
        self.rules(list).into_iter().any(|rule| self.number(rule) == number && takes(rule, args))
    }

    /// What the words of the data say: the strictest of the filters in force wins.
    fn expected(&self, filtered: Filtered, jit: bool, number: u32, args: [u64; 6]) -> Answer {
        let startup = if matches!(filtered, Filtered::Startup | Filtered::Armed) { "startup" } else { "template" };
        if matches!(filtered, Filtered::Armed | Filtered::ArmedFork) {
            if self.on("armed_end", number, args) {
                return Answer::Killed;
            }
            if !self.on(if jit { "armed_jit" } else { "armed" }, number, args) {
                return Answer::Named;
            }
        }
        if self.on(startup, number, args) { Answer::Allowed } else { Answer::Refused }
    }
}

fn takes(rule: &Value, args: [u64; 6]) -> bool {
    let conditions = rule.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    conditions.iter().all(|condition| {
        let index = usize::try_from(condition["index"].as_u64().expect("an index")).expect("one of six");
        let wide = condition["type"] == "qword";
        let arg = if wide { args[index] } else { args[index] & 0xffff_ffff };
        let want = condition["val"].as_u64().expect("a value");
        condition["op"].get("masked_eq").and_then(Value::as_u64).map_or(arg == want, |mask| arg & mask == want)
    })
}

/// Arguments that do no harm where a call is let through.
fn harmless(name: Option<&str>) -> [u64; 6] {
    match name {
        // An address that is none, so that nothing is written anywhere.
        Some("write") => [0, 1, 1, 0, 0, 0],
        Some("mmap") => [0, 4096, 0, 0x22, u64::MAX, 0],
        _ => [0; 6],
    }
}

async fn sweep(probes: &mut Probes, filtered: Filtered, foreign: bool, tried: &[(u32, [u64; 6])]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for part in tried.chunks(AT_ONCE) {
        let calls: Vec<Call> = part.iter().map(|(number, args)| Call { number: *number, args: args.map(Argument::Number) }).collect();
        let swept = probes.sweep(filtered, foreign, &calls, &[]).await.expect("a probe starts");
        answers.extend(part.iter().zip(swept).map(|((number, _), swept)| answer(*number, swept)));
    }
    answers
}

fn compare(jit: bool, lists: [Filtered; 4], tried: impl Fn(&Lists, Filtered) -> Vec<(u32, [u64; 6])>) -> usize {
    rig::together(async {
        let known = Lists::read();
        let mut probes = Probes::new(Some(&host::nodes()[0]), jit).expect("a probe can be started");
        let mut allowed = 0;
        for filtered in lists {
            let tried = tried(&known, filtered);
            let answers = sweep(&mut probes, filtered, false, &tried).await;
            let wrong: Vec<String> = tried
                .iter()
                .zip(&answers)
                .filter(|((number, args), got)| **got != Answer::Past && **got != known.expected(filtered, jit, *number, *args))
                .map(|((number, args), got)| {
                    let name = syscall_name(*number).unwrap_or("no name");
                    format!(
                        "{filtered:?} {number} {name} {args:x?}: {got:?}, the data says {:?}",
                        known.expected(filtered, jit, *number, *args)
                    )
                })
                .collect();
            assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tried.len(), wrong.join("\n"));
            allowed += answers.iter().filter(|answer| **answer == Answer::Allowed).count();
        }
        allowed
    })
}

const EVERY: [Filtered; 4] = [Filtered::Startup, Filtered::Template, Filtered::Armed, Filtered::ArmedFork];

#[test]
fn every_number_is_answered_as_the_data_files_say() {
    for jit in [false, true] {
        let allowed = compare(jit, EVERY, |_, _| (0..LAST).map(|number| (number, harmless(syscall_name(number)))).collect());
        // Control: the copies do get through where a list lets them.
        assert!(allowed > 100, "{allowed}");
    }
}

#[test]
fn x32_numbers_are_on_no_list() {
    let allowed = compare(false, EVERY, |_, _| (0..LAST).map(|number| (X32 | number, [0; 6])).collect());
    assert_eq!(allowed, 0);
}

#[test]
fn every_condition_holds_at_each_of_its_edges() {
    let allowed = compare(false, EVERY, |lists, filtered| {
        let mut names = vec![if matches!(filtered, Filtered::Startup | Filtered::Armed) { "startup" } else { "template" }];
        if matches!(filtered, Filtered::Armed | Filtered::ArmedFork) {
            names.push("armed");
        }
        let mut tried = Vec::new();
        for rule in names.into_iter().flat_map(|name| lists.rules(name)) {
            let number = lists.number(rule);
            let name = rule["syscall"].as_str();
            let conditions = rule.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            // With all conditions met, then with one bit wrong in one of them.
            let mut met = harmless(name);
            for condition in conditions {
                met[usize::try_from(condition["index"].as_u64().expect("an index")).expect("one of six")] |=
                    condition["val"].as_u64().expect("a value");
            }
            tried.push((number, met));
            for condition in conditions {
                let index = usize::try_from(condition["index"].as_u64().expect("an index")).expect("one of six");
                for bit in 0..64 {
                    let mut args = met;
                    args[index] ^= 1 << bit;
                    tried.push((number, args));
                }
            }
        }
        tried.retain(|(number, args)| !is_harmful(syscall_name(*number), *args));
        tried
    });
    assert!(allowed > 100, "{allowed}");
}

/// Calls that a list lets through and that would do something to this test: threads on the same stack, and limits and groups of others.
fn is_harmful(name: Option<&str>, args: [u64; 6]) -> bool {
    const CLONE_VM: u64 = 0x100;
    const CLONE_VFORK: u64 = 0x4000;
    name == Some("clone") && args[0] & (CLONE_VM | CLONE_VFORK) != 0
}

#[test]
fn every_call_through_the_32_bit_gate_ends_the_process() {
    if !host::has("x86_64", cfg!(target_arch = "x86_64")) {
        return;
    }
    rig::together(async {
        let mut probes = Probes::new(Some(&host::nodes()[0]), false).expect("a probe can be started");
        let tried: Vec<(u32, [u64; 6])> = (0..LAST).map(|number| (number, [0; 6])).collect();
        for filtered in EVERY {
            let answers = sweep(&mut probes, filtered, true, &tried).await;
            let others: Vec<_> = answers.iter().enumerate().filter(|(_, answer)| **answer != Answer::Killed).collect();
            assert!(others.is_empty(), "{filtered:?}: {others:?}");
        }
    });
}
