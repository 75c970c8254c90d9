//! How well and how fast search finds the right one of many tools: `cargo bench -p codemode --bench search`.
//!
//! *Well*: four sets of questions, and what each part of the search brings. Of the 456 questions, those in half 1 that search had missed were read
//! while `synonyms.txt` was written; those in half 2 never were, nor any of the other sets': half 2 says what a new question may expect. The last
//! rows choose the weights anew for each fifth of the questions, by the other four fifths: what they find shows how much of the result is due to
//! weights that fit these very questions.
//!
//! *Fast*: the time of one search at the median and the 99th percentile, and of an index: the first one, and one after a source has changed.

mod data;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};
use codemode::catalog::{FileCatalog, SearchQuery, SearchWeights, Tool, ToolSet};
use data::{Question, Task};

/// Rows that are looked through for the mean reciprocal rank; no search gives more.
const ROWS: u64 = 20;
const FOLDS: u8 = 5;

fn main() {
    let catalog = data::tools();
    let (dev, own, tasks) = (data::dev(), data::own(), data::tasks());
    quality(&catalog, &dev, &own, &tasks);
    folds(&catalog, &dev);
    speed(&catalog, &dev);
}

/// Where the right tool stands for each question.
struct Places(Vec<Option<usize>>);

impl Places {
    fn of<'a>(set: &ToolSet, questions: impl IntoIterator<Item = &'a Question>) -> Places {
        let place = |question: &Question| found(set, &question.query).iter().position(|tool| question.relevant.contains(&tool.id));
        Places(questions.into_iter().map(place).collect())
    }

    fn recall(&self, rows: usize) -> f64 {
        self.0.iter().flatten().filter(|place| **place < rows).count() as f64 / self.0.len().max(1) as f64
    }

    /// The mean of 1 / place, 0 for what is not found.
    fn mrr(&self) -> f64 {
        self.0.iter().flatten().map(|place| 1.0 / (*place as f64 + 1.0)).sum::<f64>() / self.0.len().max(1) as f64
    }

    fn show(&self, what: &str) {
        let (one, five, eight) = (self.recall(1), self.recall(5), self.recall(8));
        println!("{what:<58} {:>5}  {one:.3}  {five:.3}  {eight:.3}  {:.3}", self.0.len(), self.mrr());
    }
}

fn found(set: &ToolSet, query: &str) -> Vec<Arc<Tool>> {
    set.search(&SearchQuery { query: query.to_owned(), limit: Some(ROWS) })
}

fn set(catalog: &FileCatalog, weights: SearchWeights) -> ToolSet {
    set_of(catalog.tools().tools().to_vec()).with_weights(weights)
}

fn set_of(tools: Vec<Arc<Tool>>) -> ToolSet {
    ToolSet::new(tools).unwrap_or_else(|error| panic!("{error}"))
}

fn quality(catalog: &FileCatalog, dev: &[Question], own: &[Question], tasks: &[Task]) {
    println!("{:<58} {:>5}     @1     @5     @8    MRR", format!("{} tools", catalog.tools().tools().len()), "asked");
    let usual = SearchWeights::default;
    let off = SearchWeights { synonym: 0.0, synonym_of_unknown: 0.0, ..usual() };
    for (what, weights) in [
        ("all parts", usual()),
        ("without synonyms", off.clone()),
        ("without pairs", SearchWeights { pair: 0.0, ..usual() }),
        ("words of asking count as others, repeats do not", SearchWeights { asking: 1.0, repeated: 0.0, ..usual() }),
        ("words alone", SearchWeights { pair: 0.0, asking: 1.0, repeated: 0.0, ..off }),
    ] {
        let set = set(catalog, weights);
        println!("{what}");
        Places::of(&set, dev).show("  questions");
        Places::of(&set, dev.iter().filter(|question| question.part(2) == 0)).show("    half 1 (its misses were read)");
        Places::of(&set, dev.iter().filter(|question| question.part(2) == 1)).show("    half 2 (never read)");
        Places::of(&set, own).show("  questions of our own to tools of MCP servers");
        let needed: Vec<(Vec<Arc<Tool>>, &Vec<String>)> =
            tasks.iter().flat_map(|task| task.tools.iter().map(|ids| (found(&set, &task.query), ids))).collect();
        let hit = needed.iter().filter(|(rows, ids)| rows.iter().any(|tool| ids.contains(&tool.id))).count();
        println!(
            "  tasks of several tools: {hit} of {} tools needed are among the first {ROWS} rows of the whole task's text",
            needed.len()
        );
    }
}

fn folds(catalog: &FileCatalog, dev: &[Question]) {
    let mut candidates = Vec::new();
    for synonym in [0.3, 0.5, 0.7] {
        for synonym_of_unknown in [0.6, 0.8, 1.0] {
            for pair in [0.2, 0.4, 0.8] {
                let weights = SearchWeights { synonym, synonym_of_unknown, pair, ..SearchWeights::default() };
                candidates.push(Places::of(&set(catalog, weights), dev));
            }
        }
    }
    let part = |places: &Places, wanted: &dyn Fn(u8) -> bool| {
        Places(dev.iter().zip(&places.0).filter(|(question, _)| wanted(question.part(FOLDS))).map(|(_, place)| *place).collect())
    };
    let mut held_out = Vec::new();
    for fold in 0..FOLDS {
        let merit = |places: &&Places| {
            let rest = part(places, &|part| part != fold);
            rest.recall(8) + rest.mrr()
        };
        let best = candidates.iter().max_by(|a, b| merit(a).total_cmp(&merit(b)));
        held_out.extend(best.map(|best| part(best, &|part| part == fold).0).unwrap_or_default());
    }
    println!("weights chosen anew");
    Places(held_out).show(&format!("  each fifth by the other four, of {} weights", candidates.len()));
    let spread = |of: &dyn Fn(&Places) -> f64| {
        candidates.iter().map(of).fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((low, high), (mrr_low, mrr_high)) = (spread(&|places| places.recall(8)), spread(&Places::mrr));
    println!("  any of the {}: @8 from {low:.3} to {high:.3}, MRR from {mrr_low:.3} to {mrr_high:.3}", candidates.len());
}

fn speed(catalog: &FileCatalog, dev: &[Question]) {
    println!("\n{:<26} {:>10} {:>10} {:>12} {:>22}", "ms", "median", "p99", "first index", "one source of it anew");
    for count in [catalog.tools().tools().len(), 16_000] {
        let first: Vec<f64> = (0..5).map(|_| indexed(data::fresh(catalog, count)).1).collect();
        let (set, _) = indexed(data::fresh(catalog, count));
        let again: Vec<f64> = (0..5).map(|_| indexed(with_one_source_anew(&set)).1).collect();
        let mut times: Vec<f64> =
            dev.iter().map(|question| best_of_three(|| drop(black_box(found_usual(&set, &question.query))))).collect();
        let (median, late) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
        let (first, again) = (percentile(&mut first.clone(), 0.5), percentile(&mut again.clone(), 0.5));
        println!("{:<26} {median:>10.3} {late:>10.3} {first:>12.1} {again:>22.1}", format!("{count} tools"));
    }
    let (median, late) = crate_scorer(catalog, dev);
    println!("{:<26} {median:>10.3} {late:>10.3}   descriptions alone", "the bm25 crate's scorer");
}

fn found_usual(set: &ToolSet, query: &str) -> Vec<Arc<Tool>> {
    set.search(&SearchQuery { query: query.to_owned(), limit: None })
}

/// The set with its index, and the milliseconds that the index took.
fn indexed(tools: Vec<Arc<Tool>>) -> (ToolSet, f64) {
    let set = set_of(tools);
    let started = Instant::now();
    black_box(found_usual(&set, "any"));
    (set, ms(started.elapsed()))
}

/// The tools as they are after one server has given a new list: its tools are new ones.
fn with_one_source_anew(set: &ToolSet) -> Vec<Arc<Tool>> {
    let anew = |tool: &Arc<Tool>| {
        if tool.source_name != "ms-365" {
            return Arc::clone(tool);
        }
        Arc::new(Tool::new(
            tool.source,
            tool.source_name.as_str(),
            tool.name.as_str(),
            "A new description.",
            tool.parameters.value().clone(),
        ))
    };
    set.tools().iter().map(anew).collect()
}

struct Blanks;

impl Tokenizer for Blanks {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    }
}

/// Why its scorer is not used: the same questions over the descriptions alone.
fn crate_scorer(catalog: &FileCatalog, dev: &[Question]) -> (f64, f64) {
    let texts: Vec<&str> = catalog.tools().tools().iter().map(|tool| tool.description.as_str()).collect();
    let embedder: Embedder<u64, Blanks> = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Blanks, &texts).build();
    let mut scorer = Scorer::<usize, u64>::new();
    for (number, text) in texts.iter().enumerate() {
        scorer.upsert(&number, embedder.embed(text));
    }
    let mut times: Vec<f64> =
        dev.iter().map(|question| best_of_three(|| drop(black_box(scorer.matches(&embedder.embed(&question.query)))))).collect();
    (percentile(&mut times, 0.5), percentile(&mut times, 0.99))
}

fn best_of_three(mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        ms(started.elapsed())
    };
    (0..3).map(|_| once(&mut work)).fold(f64::MAX, f64::min)
}

fn percentile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
