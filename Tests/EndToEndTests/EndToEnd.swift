import FreshDatabases
import Testing

/// Tests on the real binaries. They run one after the other, because each starts several processes.
@Suite(.serialized)
enum EndToEnd {}

extension Trait where Self == ConditionTrait {
  /// The test is about the files of a store in the data folder.
  static var onSQLiteOnly: Self { .disabled(if: FreshDatabase.isTheStore, "the store is not in the data folder") }
}
