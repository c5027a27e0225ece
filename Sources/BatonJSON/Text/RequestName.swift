package import BatonModel
package import BatonStore

/// The name of a request for people: its identifier, and its number within the identifier.
package struct RequestName: Hashable, Sendable, CustomStringConvertible {
  package var identifier: JobIdentifier
  package var number: Int

  package var description: String { "\(identifier), request \(number)" }

  package init(identifier: JobIdentifier, number: Int) { (self.identifier, self.number) = (identifier, number) }

  /// The arguments that name this request in a suggested command.
  package var arguments: String { "\(identifier) --request \(number)" }
}

extension RequestRecord {
  package var name: RequestName { RequestName(identifier: identifier, number: number) }

  /// The number of committed batches, without the batches that a person skipped.
  package var committedBatches: Int { progress.batches - skippedBatches.count }

  /// How many skipped batches are named. The others are counted.
  private static let namedBatches = 5

  package static func skipped(_ batches: [String]) -> String {
    let more = batches.count - namedBatches
    let names = batches.prefix(namedBatches).joined(separator: ", ")
    return (batches.count == 1 ? "batch " : "batches ") + names + (more > 0 ? " and \(more) more" : "") + " skipped"
  }
}
