//! What an end without an answer means.
//!
//! The kernel's word decides the class; what the child wrote on its way out (last words, stderr) only adds detail, for it may be forged.

use std::time::Duration;

use codemode_protocol::RunLimits;

use super::limits;
use super::report::{ErrorCode, RunError};
use crate::launch::{self, Ended, ExitStatus, LastWords};

/// Signal numbers of x86_64 and aarch64 Linux, where they are the same.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

/// The jail turns `abort()` into this exit code: 128 + SIGABRT, as a shell would show it.
const EXIT_ABORTED: i32 = 134;

/// Why a child ended that nobody killed and that had not answered.
pub(crate) fn of_end(ended: &Ended, limits: &RunLimits) -> RunError {
    match ended.status {
        ExitStatus::Signaled(SIGSYS) => isolation_violation(ended.last_words),
        ExitStatus::Signaled(SIGXCPU) => cpu_limit(limits),
        ExitStatus::Signaled(SIGKILL) if ended.cpu >= Duration::from_secs(limits::cpu_seconds(limits)) => cpu_limit(limits),
        ExitStatus::Signaled(SIGABRT) | ExitStatus::Exited(EXIT_ABORTED) => memory_limit(limits, &ended.stderr_tail),
        ExitStatus::Signaled(SIGKILL) => crashed(
            "the child was killed from outside",
            "look for the kernel's out-of-memory killer in the host's log, and give the host or its cgroup more memory",
            ended,
        ),
        ExitStatus::Signaled(signal) => {
            crashed(&format!("the child was ended by signal {signal}"), "run the body again; if it stays, report it with the body", ended)
        }
        ExitStatus::Unknown => {
            crashed("the child ended and its status is lost", "let nothing else in this process wait for child processes", ended)
        }
        ExitStatus::Exited(_) if ended.last_words == Some(LastWords::Abort) => memory_limit(limits, &ended.stderr_tail),
        ExitStatus::Exited(code) => crashed(
            &format!("the child exited with {code} without an answer"),
            "run the body again; if it stays, report it with the body",
            ended,
        ),
    }
}

fn isolation_violation(words: Option<LastWords>) -> RunError {
    let call = match words {
        Some(LastWords::OffList(number)) => launch::syscall_name(number).map_or_else(|| format!("number {number}"), str::to_owned),
        Some(LastWords::Abort) | None => "unknown".to_owned(),
    };
    RunError::new(
        ErrorCode::IsolationViolation,
        format!("the child tried a system call that it may not make: {call}\ntreat the body, and whoever steered its author, as an attack"),
    )
}

fn cpu_limit(limits: &RunLimits) -> RunError {
    RunError::new(
        ErrorCode::CpuLimit,
        format!(
            "the body used up its {} s of CPU time\nlet it do less, or raise the time limit, from which this one follows",
            limits::cpu_seconds(limits)
        ),
    )
}

/// V8 gives up alike when it runs out of memory and, on some versions, when a regular expression is compiled with no stack left. Its last words tell the
/// second, if they are true.
fn memory_limit(limits: &RunLimits, stderr: &str) -> RunError {
    let mib = limits.memory_bytes() >> 20;
    let message = if stderr.contains("RegExpCompiler") {
        format!(
            "the body ran out of room while a regular expression was compiled: out of stack, or of its {mib} MiB of memory\n\
             let it recurse less deep before it uses one, or hold less at a time"
        )
    } else {
        format!("the body used up its {mib} MiB of memory\nlet it hold less at a time, or raise the memory limit")
    };
    RunError::new(ErrorCode::MemoryLimit, message)
}

fn crashed(what: &str, to_do: &str, ended: &Ended) -> RunError {
    let stderr = ended.stderr_tail.trim();
    let stderr = if stderr.is_empty() { String::new() } else { format!("\nits last words: {stderr}") };
    RunError::new(ErrorCode::ChildCrashed, format!("{what}\n{to_do}{stderr}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(status: ExitStatus, last_words: Option<LastWords>) -> Ended {
        Ended { status, last_words, stderr_tail: String::new(), cpu: Duration::ZERO, peak_rss_bytes: 0 }
    }

    fn code(status: ExitStatus, words: Option<LastWords>) -> ErrorCode {
        of_end(&end(status, words), &RunLimits::default()).code
    }

    #[test]
    fn the_kernels_word_decides_and_a_forged_one_does_not() {
        use ExitStatus::{Exited, Signaled};
        let off_list = Some(LastWords::OffList(0));
        assert_eq!(code(Signaled(SIGSYS), None), ErrorCode::IsolationViolation);
        assert_eq!(code(Signaled(SIGSYS), Some(LastWords::Abort)), ErrorCode::IsolationViolation);
        assert_eq!(code(Exited(0), off_list), ErrorCode::ChildCrashed);
        assert_eq!(code(Signaled(11), off_list), ErrorCode::ChildCrashed);
        assert_eq!(code(Signaled(SIGXCPU), None), ErrorCode::CpuLimit);
        assert_eq!(code(Exited(EXIT_ABORTED), Some(LastWords::Abort)), ErrorCode::MemoryLimit);
        assert_eq!(code(Exited(EXIT_ABORTED), None), ErrorCode::MemoryLimit);
        assert_eq!(code(Exited(1), None), ErrorCode::ChildCrashed);
    }

    #[test]
    fn a_kill_is_the_cpu_limit_only_with_the_cpu_time_used_up() {
        let mut ended = end(ExitStatus::Signaled(SIGKILL), None);
        assert_eq!(of_end(&ended, &RunLimits::default()).code, ErrorCode::ChildCrashed);
        assert!(of_end(&ended, &RunLimits::default()).message.contains("out-of-memory"));
        ended.cpu = Duration::from_secs(11);
        assert_eq!(of_end(&ended, &RunLimits::default()).code, ErrorCode::CpuLimit);
    }

    #[test]
    fn memory_names_its_limit_and_a_crash_its_stderr() {
        assert!(of_end(&end(ExitStatus::Exited(EXIT_ABORTED), None), &RunLimits::default()).message.contains("128 MiB"));
        let mut regexp = end(ExitStatus::Exited(EXIT_ABORTED), Some(LastWords::Abort));
        regexp.stderr_tail = "FATAL ERROR: RegExpCompiler Allocation failed - process out of memory\n".into();
        let error = of_end(&regexp, &RunLimits::default());
        assert!(error.code == ErrorCode::MemoryLimit && error.message.contains("out of stack, or of its 128 MiB"), "{}", error.message);
        let mut ended = end(ExitStatus::Exited(7), None);
        ended.stderr_tail = "node: oops\n".into();
        let message = of_end(&ended, &RunLimits::default()).message;
        assert!(message.contains("exited with 7") && message.contains("node: oops"), "{message}");
    }
}
