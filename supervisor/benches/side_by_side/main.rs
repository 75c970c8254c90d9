//! What a run costs, ways and Nodes side by side: `cargo bench --bench side_by_side -- [--node PATH]... [--rounds N] [--strict]`.
//!
//! One round does each piece of work once, on each Node, with a pause before it: a machine that gets slower during the benchmark slows all of them alike.
//! Every run is checked while it is measured: its answer, the way it was started, all walls, and by the census of [`processes`] that its process was
//! never used before. A figure that misses its target is printed as that; `--strict` makes it an exit code, too.

mod arguments;
mod catalogs;
mod figures;
mod processes;
mod search;
mod subject;
mod sustained;
mod table;
mod work;

use std::process::ExitCode;
use std::time::Duration;

use arguments::Arguments;
use catalogs::Catalogs;
use subject::Subject;
use table::Row;
use work::Work;

/// Before each piece of work: long enough for forks to be made and to wait, as they do when an agent's bodies come one after the other.
const PAUSE: Duration = Duration::from_millis(15);

/// Rounds between two looks at the memory of waiting forks.
const MEMORY_EVERY: usize = 5;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be made");
    // On a worker, where an embedder's requests are, and not on a thread beside the runtime.
    let all_met = runtime.block_on(async { tokio::spawn(measure(arguments.clone())).await.expect("no check has failed") });
    if arguments.strict && !all_met { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Measures everything, prints it, and says whether all targets were met.
async fn measure(arguments: Arguments) -> bool {
    let catalogs = Catalogs::load();
    let mut subjects: Vec<Subject> = arguments.nodes.iter().map(|node| Subject::new(node)).collect();
    for subject in &mut subjects {
        subject.warm_up(&catalogs).await;
    }
    let rss_before = processes::own_rss_bytes();
    let mut searches = search::Searches::new(&catalogs);
    for round in 0..arguments.rounds {
        for subject in &mut subjects {
            for work in Work::ALL {
                tokio::time::sleep(PAUSE).await;
                subject.once(work, &catalogs).await;
            }
            if round % MEMORY_EVERY == 0 {
                tokio::time::sleep(PAUSE).await;
                subject.weigh();
            }
        }
        searches.once(round).await;
    }
    for subject in &mut subjects {
        subject.sustain(&catalogs).await;
    }
    let rss_after = processes::own_rss_bytes();

    let mut all_met = true;
    for subject in &subjects {
        let rows = subject.rows();
        println!("\nNode {}, {} rounds, {}", subject.version(), arguments.rounds, subject.node().display());
        print!("{}", table::text(&rows));
        all_met &= rows.iter().all(Row::is_met);
    }
    let rows = searches.rows();
    println!("\nSearch, no Node");
    print!("{}", table::text(&rows));
    all_met &= rows.iter().all(Row::is_met);
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "\nresident memory of the supervisor: {:.1} MiB before the rounds, {:.1} MiB after",
        mebibytes(rss_before),
        mebibytes(rss_after)
    );
    all_met
}
