//! Search, as bodies use it.

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
