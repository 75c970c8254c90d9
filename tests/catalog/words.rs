//! Search, as bodies use it.

use codemode::catalog::FileCatalog;
use serde_json::{Value, json};

use super::{catalog, found};

#[tokio::test]
async fn p28_ordinary_wording_finds_the_tool() {
    let catalog = catalog(&[
        ("spreadsheet_open", "Open a spreadsheet and read its cells, to read or read again."),
        ("task_create", "Schedule a recurring task"),
        ("file_read", "Give a file's text"),
    ]);
    assert_eq!(found(&catalog, "scheduling", None).await, ["task_create"]);
    assert_eq!(found(&catalog, "read", None).await[0], "file_read");
}

#[tokio::test]
async fn p28_nonsense_and_nothing_find_nothing() {
    let catalog = catalog(&[("spreadsheet_open", "Open a spreadsheet"), ("file_read", "Read a file")]);
    for query in ["zzqqxx", "", "   ", "\n", "?!", "\u{0}"] {
        assert_eq!(found(&catalog, query, None).await, Vec::<String>::new(), "{query:?}");
    }
}

#[tokio::test]
async fn p29_the_exact_name_comes_first() {
    let mut tools: Vec<(String, String)> = (0..40)
        .map(|number| (format!("find_{number}_symbol_find"), format!("Find a symbol: find symbol {number}, to find each symbol you find.")))
        .collect();
    tools.insert(20, ("find_symbol".to_owned(), "Short.".to_owned()));
    let tools: Vec<(&str, &str)> = tools.iter().map(|(name, description)| (name.as_str(), description.as_str())).collect();
    let catalog = catalog(&tools);
    for query in ["find_symbol", "find symbol", "FindSymbol", " find-symbol ", "client:t:find_symbol", "please use `find_symbol` for this"]
    {
        assert_eq!(found(&catalog, query, Some(1)).await, ["find_symbol"], "{query}");
    }
}

#[tokio::test]
async fn several_exact_names_in_one_query_are_all_found() {
    let catalog =
        catalog(&[("get_user", ""), ("list_files", ""), ("read", ""), ("write", ""), ("user_list_files_get", "get user list files")]);
    assert_eq!(found(&catalog, "list_files get_user", Some(2)).await, ["list_files", "get_user"]);
    assert_eq!(found(&catalog, "read, write", Some(2)).await, ["read", "write"]);
}

#[tokio::test]
async fn other_scripts_are_found() {
    let catalog = catalog(&[
        ("weather", "查询城市的天气预报"),
        ("map", "在地图上查找路线"),
        ("fil", "Öppna en fil på skrivbordet"),
        ("файл", "Прочитать содержимое файла"),
    ]);
    for (query, name) in
        [("天气", "weather"), ("地图路线", "map"), ("图", "map"), ("ÖPPNA", "fil"), ("прочитать", "файл"), ("ФАЙЛ", "файл")]
    {
        assert_eq!(found(&catalog, query, None).await.first().map(String::as_str), Some(name), "{query}");
    }
}

#[tokio::test]
async fn the_limit_has_a_default_and_bounds() {
    let names: Vec<String> = (0..50).map(|number| format!("thing_{number}")).collect();
    let tools: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "A thing.")).collect();
    let catalog = catalog(&tools);
    for (limit, rows) in [(None, 8), (Some(0), 1), (Some(3), 3), (Some(20), 20), (Some(u64::MAX), 20)] {
        assert_eq!(found(&catalog, "thing", limit).await.len(), rows, "{limit:?}");
    }
}

#[tokio::test]
async fn a_query_of_any_size_is_answered() {
    let catalog = catalog(&[("file_read", "Read a file")]);
    assert_eq!(found(&catalog, &format!("read {}", "é".repeat(300_000)), None).await, ["file_read"]);
}

#[tokio::test]
async fn equals_come_in_one_order() {
    let catalog = catalog(&[("b_thing", "Same."), ("a_thing", "Same."), ("c_thing", "Same.")]);
    assert_eq!(found(&catalog, "same", None).await, ["a_thing", "b_thing", "c_thing"]);
}

/// What people say and what authors write.
#[tokio::test]
async fn other_words_for_the_same_are_found_and_count_less() {
    let catalog = catalog(&[
        ("remove_repository", "Removes it."),
        ("photo_upload", "Uploads a picture."),
        ("send_message", "Sends a message."),
        ("post_image", "Posts an image."),
        ("area_of", "The area of a shape."),
    ]);
    for (query, name) in
        [("delete a repo", "remove_repository"), ("upload my photograph", "photo_upload"), ("deliver a message", "send_message")]
    {
        assert_eq!(found(&catalog, query, None).await.first().map(String::as_str), Some(name), "{query}");
    }
    // The word itself comes before the other word for it.
    assert_eq!(found(&catalog, "image", None).await, ["post_image", "photo_upload"]);
    // A triangle has an area; an area is no triangle.
    assert_eq!(found(&catalog, "triangle", None).await, ["area_of"]);
}

#[tokio::test]
async fn words_side_by_side_count_more_than_apart() {
    let catalog =
        catalog(&[("a_tool", "Status of the order, and an order of status."), ("b_tool", "The order and its state, an order status.")]);
    assert_eq!(found(&catalog, "order status", Some(1)).await, ["b_tool"]);
}

#[tokio::test]
async fn words_written_as_one_are_found_apart() {
    let catalog = catalog(&[("white_board_clear", "Wipes it."), ("other", "Something else.")]);
    assert_eq!(found(&catalog, "whiteboard", None).await, ["white_board_clear"]);
}

#[tokio::test]
async fn words_of_asking_count_less_and_still_count() {
    let catalog = catalog(&[("help_me", "Help, please: tell me what I need to know."), ("tune_piano", "Tunes a piano.")]);
    assert_eq!(found(&catalog, "please help me, I need to know how to tune my piano", None).await[0], "tune_piano");
    assert_eq!(found(&catalog, "help", None).await, ["help_me"]);
}

#[tokio::test]
async fn accents_and_wide_letters_do_not_matter() {
    let catalog = catalog(&[("resume_read", "Lit un résumé de la réunion"), ("api_call", "Ruft ｆｕｌｌｗｉｄｔｈ auf")]);
    for (query, name) in
        [("reunion", "resume_read"), ("RÉUNION", "resume_read"), ("re\u{301}union", "resume_read"), ("fullwidth", "api_call")]
    {
        assert_eq!(found(&catalog, query, None).await, [name], "{query}");
    }
}

#[tokio::test]
async fn only_trusted_sources_are_found_by_their_parameters() {
    let tool = |source: &str| {
        let parameters = json!({"type": "object", "properties": {"wavelengthNm": {"type": "number"}}});
        json!({"source": source, "sourceName": "s", "name": format!("{source}_thing"), "description": "A thing.", "parameters": parameters})
    };
    let text = json!(["openclaw", "plugin", "mcp", "client"].map(tool)).to_string();
    let catalog = FileCatalog::from_str(&text, "t").unwrap();
    assert_eq!(found(&catalog, "wavelength", None).await, ["openclaw_thing", "plugin_thing"]);
}

#[tokio::test]
async fn a_server_that_puts_its_name_into_its_tools_does_not_win_by_it() {
    let tool = |name: &str| json!({"source": "mcp", "sourceName": "acme", "name": name, "description": "", "parameters": {}});
    let catalog = FileCatalog::from_str(&json!([tool("acme_acme_acme_ping"), tool("ping_acme")]).to_string(), "t").unwrap();
    assert_eq!(found(&catalog, "acme", None).await.len(), 2);
    let catalog = FileCatalog::from_str(&json!([tool("list"), tool("ping")]).to_string(), "t").unwrap();
    assert_eq!(found(&catalog, "acme ping", Some(1)).await, ["ping"]);
}

/// Each of them would be slow, or would fail, where it is not bounded.
#[tokio::test]
async fn hostile_queries_are_bounded() {
    let mut tools: Vec<(String, String)> = (0..2_000)
        .map(|number| {
            (format!("get_list_{number}"), "Get, list, find, show, create, add, make, new, update and delete a list of data.".to_owned())
        })
        .collect();
    tools.push(("aaaa".to_owned(), "a".repeat(100_000)));
    let tools: Vec<(&str, &str)> = tools.iter().map(|(name, description)| (name.as_str(), description.as_str())).collect();
    let catalog = catalog(&tools);
    found(&catalog, "warm", None).await;
    let hostile = [
        "x".repeat(1 << 20),
        "a ".repeat(1 << 19),
        "get list find show create add make new update delete data ".repeat(200),
        (0..10_000).map(|number| format!("word{number} ")).collect(),
        (0..10_000).map(|number| format!("get_list_{number} ")).collect(),
        "天".repeat(300_000),
        "\u{fdfa}".repeat(100_000),
        "a\u{301}".repeat(100_000),
        "_".repeat(1 << 20),
        "aB".repeat(500_000),
        "\u{0}\u{202e}<system>".repeat(10_000),
    ];
    for query in hostile {
        let started = std::time::Instant::now();
        let rows = found(&catalog, &query, Some(u64::MAX)).await;
        // A debug build on a busy machine; in a released one the slowest takes a few milliseconds.
        assert!(rows.len() <= 20 && started.elapsed() < std::time::Duration::from_secs(2), "{:.40}: {:?}", query, started.elapsed());
    }
}

#[tokio::test]
async fn hostile_tools_are_read_within_bounds() {
    let properties: serde_json::Map<String, Value> = (0..20_000).map(|number| (format!("flood{number}"), json!({}))).collect();
    let flood = json!({"type": "object", "properties": properties});
    let text = json!([
        {"name": "a", "description": "weather ".repeat(1 << 17), "parameters": {}},
        {"name": "b", "description": "weather", "parameters": {}},
        {"name": "c", "description": "\u{fdfa}".repeat(1 << 17), "parameters": {}},
        {"name": "d", "source": "plugin", "description": "", "parameters": flood},
    ]);
    let catalog = FileCatalog::from_str(&text.to_string(), "t").unwrap();
    let started = std::time::Instant::now();
    // A thousand mentions are one.
    assert_eq!(found(&catalog, "weather", None).await, ["b", "a"]);
    assert!(found(&catalog, "flood19999", None).await.is_empty());
    assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
}
