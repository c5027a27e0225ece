import BatonHandler
import BatonModel

/// The arguments of `TestRequest.init`, before they are checked.
struct Settings: Sendable {
  var identifier: String
  var pattern: String
  var kind: JobKind
  var payload: TestPayload?
  var principal: String
  var budget: Duration?
  var closingWindow: Duration?
  var stallAfter: Duration?
  var shard: JobShard?
  var transfers: [String]
  var server: TestServer?
  var maySubmit: [String]
  var inputs: [JobInput]
  var retries: Int
  var batchDuration: Duration

  /// The transfers of the definition, under the names that their files have in the URLs.
  var definedTransfers: TestTransfers {
    var transfers = TestTransfers()
    transfers.add(
      self.transfers.map { url in
        Transfer(
          url: url,
          to: url.split(whereSeparator: { "?#".contains($0) }).first?.split(separator: "/").last.map(String.init))
      })
    return transfers
  }

  /// The largest payload, in bytes.
  static let payloadLimit = 64 << 10

  /// The settings after they have been checked by a coordinator's rules.
  struct Checked {
    var identifier: JobIdentifier
    var definition: Definition
    var payload: [UInt8]?
  }

  /// - Throws: `TestKitError` with the code `.invalidRequest` if a coordinator would refuse the request, or the error
  ///   of the payload's encoder.
  func checked() throws -> Checked {
    guard let identifier = JobIdentifier(identifier) else {
      throw refusal("'\(identifier)' is no identifier: letters, digits, '-' and '_', with dots between")
    }
    guard let pattern = IdentifierPattern(pattern), pattern.matches(identifier) else {
      throw refusal("'\(pattern)' is not declared for '\(identifier)': write it, or a prefix of it followed by '.*'")
    }
    let payload = try payload?.bytes.get()
    guard payload?.count ?? 0 <= Self.payloadLimit else {
      throw refusal("the payload has \(payload?.count ?? 0) bytes and the limit is \(Self.payloadLimit)")
    }
    if let problem = definedTransfers.all.lazy.compactMap(\.problems.first).first {
      throw refusal("a transfer is not valid: \(problem)")
    }
    for input in inputs {
      for json in [input.resultBytes].compactMap(\.self) + input.shardResults.values {
        do throws(JobResultProblem) {
          _ = try JobResult(json)
        } catch {
          throw refusal("\(input.identifier) gave \(error)")
        }
      }
    }
    let submitted = maySubmit.compactMap { IdentifierPattern($0) }
    guard submitted.count == maySubmit.count else {
      throw refusal("'maySubmit' has identifiers, each of which may end with '.*'")
    }
    var definition = definition(pattern)
    if !submitted.isEmpty { definition.maySubmit = submitted }
    do throws(DefinitionProblem) { try definition.validate() } catch { throw refusal("\(error)") }
    return Checked(identifier: identifier, definition: definition, payload: payload)
  }

  private func definition(_ pattern: IdentifierPattern) -> Definition {
    var definition = Definition(pattern: pattern, kind: kind)
    if kind == .continued { definition.title = "Test" }
    definition.budget = budget ?? definition.budget
    definition.closingWindow = closingWindow
    definition.stallAfter = stallAfter
    definition.spread = shard.map { Spread(lanes: 1, shards: $0.count) }
    definition.retry = RetryRule(limit: retries, backoff: .zero)
    return definition
  }

  private func refusal(_ message: String) -> TestKitError { TestKitError(.invalidRequest, message) }
}

extension RequestInput {
  init(_ input: JobInput) {
    let state: RequestState =
      switch input.end {
      case .succeeded: .succeeded
      case .failed: .failed
      case .cancelled: .cancelled
      }
    self.init(
      input.identifier, number: input.request, state: state, result: input.resultBytes.map(JobResult.init(trusted:)),
      shards: input.shardResults.sorted { $0.key < $1.key }.map { shard, json in
        ShardResult(shard: shard, result: JobResult(trusted: json))
      }, isCut: input.isCut)
  }
}
