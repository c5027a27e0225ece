import Testing

@testable import BatonStore

/// What the text of a query says that it changes. (In a debug build every group on loaded rows is compared as a whole
/// too, so every test that writes on loaded rows tests the texts of its queries.)
@Suite struct QueryChangeTests {
  @Test func aReadChangesNothing() {
    #expect(QueryChange("SELECT id FROM request WHERE state = 1") == nil)
    #expect(QueryChange("WITH RECURSIVE ready (id) AS (SELECT 1) SELECT id FROM ready") == nil)
    #expect(!Query("SELECT 1").isWrite)
  }

  @Test func anInsertionNamesItsTable() {
    expect("INSERT INTO identifier (id, name) VALUES (?, ?)", .insert, "identifier", [])
    expect("INSERT INTO poke(request) SELECT id FROM request WHERE id = ?", .insert, "poke", [])
  }

  @Test func anInsertionNamesTheColumnsOfRowsThatAreThere() {
    expect(
      """
      INSERT INTO progress (request, batches) VALUES (?, ?)
      ON CONFLICT (request) DO UPDATE SET batches = excluded.batches,
        subtitle = coalesce(excluded.subtitle, subtitle), cursor = excluded.cursor
      """, .insert, "progress", ["batches", "subtitle", "cursor"])
  }

  @Test func anUpdateNamesItsColumns() {
    expect("UPDATE store SET is_paused = 1", .update, "store", ["is_paused"])
    expect("UPDATE launch SET batches=?,ended_at=? WHERE request = ?", .update, "launch", ["batches", "ended_at"])
    expect(
      """
      UPDATE request SET state = ?1, cause = ?2,
        ready_at = CASE WHEN ?3 = 1 THEN coalesce(ready_at, (SELECT at FROM event WHERE request = ?4)) END,
        held_by = min(held_by, ?5)
      WHERE id = ?6 AND (state, cause) = (1, 2)
      """, .update, "request", ["state", "cause", "ready_at", "held_by"])
  }

  @Test func aDeletionNamesItsTable() {
    expect("DELETE FROM unsent_span WHERE request = ? AND launch = ?", .delete, "unsent_span", [])
    expect("DELETE FROM share", .delete, "share", [])
  }

  private func expect(
    _ sql: String, _ kind: QueryChange.Kind, _ table: String, _ columns: [String],
    _ location: SourceLocation = #_sourceLocation
  ) {
    let change = QueryChange(sql)
    #expect(change?.kind == kind && change?.table == table && change?.columns == columns, sourceLocation: location)
  }
}
