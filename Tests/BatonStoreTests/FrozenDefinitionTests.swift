import BatonModel
import Testing

@testable import BatonStore

@Suite struct FrozenDefinitionTests {
  @Test func aDefinitionThatCannotBeUsedKeepsItsLimitsByKey() throws {
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.a"), kind: .processing)
    definition.concurrency = ConcurrencyLimit(key: KeyTemplate("customer/acme"), limit: 1)
    definition.closingWindow = .zero
    let frozen = FrozenDefinition(
      id: DefinitionID(1), pattern: 1, content: try definition.canonicalJSON(), name: "com.a")
    #expect(frozen.problem != nil)
    #expect(frozen.definition.concurrency == definition.concurrency)
  }
}
