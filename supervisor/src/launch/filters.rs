//! Seccomp filters, compiled from the data files in `supervisor/seccomp`.
//!
//! The files are lists of calls with a reason each, in the format of the `seccompiler` crate, which compiles them.

use seccompiler::{BpfMap, BpfProgram, TargetArch, compile_from_json};

/// The lists of this machine's processor.
#[cfg(target_arch = "x86_64")]
const LISTS: &str = include_str!("../../seccomp/x86_64.json");
/// The lists of this machine's processor.
#[cfg(target_arch = "aarch64")]
const LISTS: &str = include_str!("../../seccomp/aarch64.json");

/// The filters of one plan, as the kernel takes them: `struct sock_filter` of 8 bytes each.
#[derive(Debug)]
pub(super) struct Filters {
    pub(super) startup: Vec<u8>,
    pub(super) template: Vec<u8>,
    pub(super) armed: Vec<u8>,
    pub(super) armed_end: Vec<u8>,
}

impl Filters {
    /// Compiles the lists.
    pub(super) fn compile(jit: bool) -> Result<Filters, FilterError> {
        let mut programs = compile(LISTS, std::env::consts::ARCH)?;
        let mut take = |name: &'static str| programs.remove(name).ok_or(FilterError::Missing(name)).map(|program| bytes(&program));
        let armed = take(if jit { "armed_jit" } else { "armed" })?;
        Ok(Filters { startup: take("startup")?, template: take("template")?, armed, armed_end: take("armed_end")? })
    }
}

/// The lists cannot be compiled: a fault of ours, found by the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// The processor has no lists.
    #[error("no system call lists for this processor")]
    Processor,
    /// A list is not there.
    #[error("system call list {0:?} is missing")]
    Missing(&'static str),
    /// The crate refuses a list.
    #[error("system call lists do not compile")]
    Compile(#[source] seccompiler::Error),
}

fn compile(lists: &str, processor: &str) -> Result<BpfMap, FilterError> {
    let target = TargetArch::try_from(processor).map_err(|_| FilterError::Processor)?;
    compile_from_json(lists.as_bytes(), target).map_err(FilterError::Compile)
}

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut out = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        out.extend_from_slice(&instruction.code.to_ne_bytes());
        out.extend_from_slice(&[instruction.jt, instruction.jf]);
        out.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    out
}

/// The name of a system call of this processor, for people.
pub fn syscall_name(number: u32) -> Option<&'static str> {
    syscalls::Sysno::new(number as usize).map(|call| call.name())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const PROCESSORS: [(&str, &str, u32); 2] = [
        ("x86_64", include_str!("../../seccomp/x86_64.json"), 0xc000_003e),
        ("aarch64", include_str!("../../seccomp/aarch64.json"), 0xc000_00b7),
    ];

    /// What the kernel hands a filter.
    #[derive(Clone, Copy)]
    struct Call {
        number: u32,
        processor: u32,
        args: [u64; 6],
    }

    impl Call {
        fn word(self, offset: u32) -> u32 {
            let arg = |at: u32| self.args[(at / 8) as usize] >> (at % 8 * 8);
            match offset {
                0 => self.number,
                4 => self.processor,
                8 | 12 => 0,
                16..64 => arg(offset - 16) as u32,
                _ => panic!("a filter reads past the call: {offset}"),
            }
        }
    }

    /// Runs a filter in user space, as the kernel would: the subset of classic BPF that compilers of filters emit.
    fn evaluate(program: &BpfProgram, call: Call) -> u32 {
        let (mut at, mut accumulator) = (0, 0_u32);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
            match step.code {
                0x20 => accumulator = call.word(step.k),
                0x54 => accumulator &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(accumulator == step.k),
                0x25 => at += jump(accumulator > step.k),
                0x35 => at += jump(accumulator >= step.k),
                0x45 => at += jump(accumulator & step.k != 0),
                0x06 => return step.k,
                other => panic!("an instruction no filter of ours should need: {other:#x}"),
            }
        }
    }

    const KILL_PROCESS: u32 = 0x8000_0000;
    const TRAP: u32 = 0x0003_0000;
    const ENOSYS: u32 = 0x0005_0026;
    const ALLOW: u32 = 0x7fff_0000;

    fn action(list: &Value, which: &str) -> u32 {
        match &list[which] {
            Value::String(name) if name == "allow" => ALLOW,
            Value::String(name) if name == "trap" => TRAP,
            Value::String(name) if name == "kill_process" => KILL_PROCESS,
            Value::Object(errno) if errno["errno"] == 38 => ENOSYS,
            other => panic!("an action the tests do not know: {other}"),
        }
    }

    /// Whether a rule of the data file takes the call: written from the file's meaning, not from the compiler's.
    fn takes(rule: &Value, args: [u64; 6]) -> bool {
        let Some(conditions) = rule.get("args") else { return true };
        conditions.as_array().expect("a list").iter().all(|condition| {
            let wide = condition["type"] == "qword";
            let arg = args[condition["index"].as_u64().expect("an index") as usize];
            let (arg, want) = (if wide { arg } else { arg & 0xffff_ffff }, condition["val"].as_u64().expect("a value"));
            match &condition["op"] {
                Value::String(op) if op == "eq" => arg == want,
                Value::Object(op) => arg & op["masked_eq"].as_u64().expect("a mask") == want,
                other => panic!("a comparison the tests do not know: {other}"),
            }
        })
    }

    /// Argument values that matter: everything a rule compares with, and its neighbours in every bit.
    fn interesting(rules: &[Value]) -> Vec<u64> {
        let mut values = vec![0, 1, u64::MAX, 1 << 32, 0xffff_ffff];
        for condition in rules.iter().filter_map(|rule| rule.get("args")).flat_map(|args| args.as_array().expect("a list")) {
            let value = condition["val"].as_u64().expect("a value");
            values.extend((0..64).map(|bit| value ^ (1 << bit)));
            values.push(value);
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    #[test]
    fn compiled_filters_are_exactly_the_data_files() {
        for (processor, lists, arch) in PROCESSORS {
            let programs = compile(lists, processor).expect("the lists compile");
            let data: Value = serde_json::from_str(lists).expect("the lists are JSON");
            assert_eq!(programs.len(), 5);
            let table = compile_numbers(processor);
            for (name, program) in &programs {
                let list = &data[name];
                let rules = list["filter"].as_array().expect("a list");
                for number in (0..=600).chain(0x4000_0000..=0x4000_0258).chain([u32::MAX, 1 << 31]) {
                    let of_call: Vec<Value> =
                        rules.iter().filter(|rule| table(rule["syscall"].as_str().expect("a name")) == number).cloned().collect();
                    for index in 0..6 {
                        for value in interesting(&of_call) {
                            let mut args = [0; 6];
                            args[index] = value;
                            let expected = if of_call.iter().any(|rule| takes(rule, args)) { "match_action" } else { "mismatch_action" };
                            let got = evaluate(program, Call { number, processor: arch, args });
                            assert_eq!(got, action(list, expected), "{processor} {name} {number} arg{index}={value:#x}");
                        }
                    }
                }
            }
        }
    }

    /// Numbers by name, found by compiling a list of one call: the table of the crate is its own secret.
    fn compile_numbers(processor: &str) -> impl Fn(&str) -> u32 {
        let processor = processor.to_owned();
        let known = std::cell::RefCell::new(std::collections::HashMap::new());
        move |name: &str| {
            *known.borrow_mut().entry(name.to_owned()).or_insert_with(|| {
                let list = format!(r#"{{"one":{{"mismatch_action":"trap","match_action":"allow","filter":[{{"syscall":"{name}"}}]}}}}"#);
                let programs = compile(&list, &processor).expect("a known call");
                let arch = PROCESSORS.iter().find(|(known, ..)| *known == processor).expect("a known processor").2;
                (0..=600)
                    .find(|number| evaluate(&programs["one"], Call { number: *number, processor: arch, args: [0; 6] }) == ALLOW)
                    .expect("a number")
            })
        }
    }

    #[test]
    fn a_foreign_processor_ends_the_process() {
        for (processor, lists, _) in PROCESSORS {
            for (name, program) in &compile(lists, processor).expect("the lists compile") {
                for foreign in [0x4000_0003, 0, u32::MAX] {
                    let got = evaluate(program, Call { number: 0, processor: foreign, args: [3; 6] });
                    assert_eq!(got, KILL_PROCESS, "{processor} {name}");
                }
            }
        }
    }

    #[test]
    fn every_call_on_a_list_has_its_reason_and_armed_is_the_smallest() {
        const NEVER: [&str; 14] = [
            "open",
            "openat",
            "socket",
            "connect",
            "execve",
            "clone",
            "clone3",
            "kill",
            "tgkill",
            "ioctl",
            "prctl",
            "ptrace",
            "seccomp",
            "io_uring_setup",
        ];
        for (_, lists, _) in PROCESSORS {
            let data: Value = serde_json::from_str(lists).expect("the lists are JSON");
            for list in data.as_object().expect("lists").values() {
                for rule in list["filter"].as_array().expect("a list") {
                    assert!(rule["comment"].as_str().is_some_and(|reason| !reason.is_empty()), "{rule}");
                }
            }
            for armed in ["armed", "armed_jit"] {
                let names: Vec<&str> =
                    data[armed]["filter"].as_array().expect("a list").iter().filter_map(|rule| rule["syscall"].as_str()).collect();
                assert!(NEVER.iter().all(|never| !names.contains(never)), "{names:?}");
            }
        }
    }

    #[test]
    fn both_processors_have_the_same_armed_list() {
        let [x86, arm] = PROCESSORS.map(|(_, lists, _)| serde_json::from_str::<Value>(lists).expect("the lists are JSON"));
        for list in ["armed", "armed_jit", "armed_end"] {
            assert_eq!(x86[list], arm[list]);
        }
    }
}
