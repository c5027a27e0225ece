/// A transfer as a definition has it: the time before which it does not begin may count from the submission.
package struct DefinedTransfer: Hashable, Sendable, Codable {
  /// Its `earliestBeginDate` is a date on the wall clock; `nil` if the definition names none.
  package var transfer: Transfer
  /// How long after the submission the transfer begins at the earliest; `nil` if the definition says nothing of that.
  package var delay: Duration?

  package init(_ transfer: Transfer, delay: Duration? = nil) { (self.transfer, self.delay) = (transfer, delay) }

  /// The transfer of a request.
  package func resolved(submittedAt: Timestamp) -> Transfer {
    guard let delay else { return transfer }
    var resolved = transfer
    resolved.earliestBeginDate = submittedAt + delay
    return resolved
  }
}

extension Definition {
  /// Checks the transfers: their number, each of them, and that no two write the same file.
  func validateTransfers() throws(DefinitionProblem) {
    guard let transfers else { return }
    let field = "work.transfers"
    guard (1...Limits.transfers).contains(transfers.count) else {
      throw DefinitionProblem(field, "has \(transfers.count) transfers; from 1 to \(Limits.transfers) are allowed")
    }
    if spread != nil { throw DefinitionProblem(field, Self.noSpreadTransfers) }
    for one in transfers {
      if let problem = one.transfer.problems.first {
        throw DefinitionProblem(field, "has one that is not valid: \(problem)")
      }
      if let delay = one.delay, delay < .zero || delay > Limits.longestDuration {
        throw DefinitionProblem(field, "has one that begins later than after \(Limits.longestDuration.inWords)")
      }
    }
    let targets = transfers.compactMap(\.transfer.to)
    guard Set(targets).count == targets.count else {
      throw DefinitionProblem(field, "has two that write the same file")
    }
  }

  /// Why a request that is divided has no transfers.
  package static let noSpreadTransfers = "cannot be combined with 'work.spread' or 'work.shards'"
}

extension Transfer {
  /// The silences that a transfer may allow.
  package static let requestTimeouts = Duration.seconds(1)...Duration.seconds(86_400)
  /// The times that a whole transfer may be allowed.
  package static let resourceTimeouts = Duration.seconds(1)...maximumTimeout
}
