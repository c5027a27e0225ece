package import BatonModel
package import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension CoordinatorMessage {
  /// The protobuf message for a frame. It is `nil` for a receipt, which has a field of its own in the frame, because an
  /// older worker refuses a message of a kind that it does not know.
  func proto() throws -> Baton_V1_CoordinatorMessage? {
    var proto = Baton_V1_CoordinatorMessage()
    switch self {
    case .welcome(let term): proto.welcome = term.nanoseconds
    case .refused(let text, let isFinal):
      proto.refused = .with {
        $0.text = text
        $0.isFinal = isFinal
      }
    case .heartbeatAnswered(let number): proto.heartbeatAnswered = Int64(number)
    case .definition(let id, let definition):
      proto.definition = try .with {
        $0.id = id.rawValue
        $0.json = try definition.json()
      }
    // The receiver decodes this to the same message, because it contains no definition.
    case .unusableDefinition(let id, _): proto.definition = .with { $0.id = id.rawValue }
    case .launch(let assignment): proto.launch = assignment.proto
    case .items(let page): proto.items = page.proto
    case .itemsCommitted(let launch, let count, let isFrozen, let end):
      proto.itemsCommitted = .with {
        $0.launch = launch.proto
        $0.count = Int64(count)
        $0.isFrozen = isFrozen
        if let end { $0.shardEnd = end }
      }
    case .committed(let launch, let batch, let end):
      proto.committed = .with {
        $0.launch = launch.proto
        $0.batch = Int64(batch)
        if let end { $0.shardEnd = end }
      }
    case .expire(let launch, let reason): proto.expire = reason.proto(of: launch)
    case .withdraw(let launch, let text): proto.withdraw = text.proto(about: launch)
    case .refuse(let launch, let text): proto.refuse = text.proto(about: launch)
    case .endingCommitted(let launch): proto.endingCommitted = launch.proto
    case .receipt: return nil
    case .transfers(let orders): proto.transfers = .with { $0.orders = orders.map(\.wire) }
    case .simulate(let overrides, let lasting): proto.simulate = overrides.proto(lasting: lasting)
    case .submitted(let launch, let name, let answer): proto.submitted = answer.proto(of: launch, name)
    }
    return proto
  }

  package init(_ proto: Baton_V1_CoordinatorMessage) throws {
    switch proto.kind {
    case .welcome(let term): self = .welcome(leaseTerm: .nanoseconds(term))
    case .refused(let refused): self = .refused(refused.text, isFinal: refused.isFinal)
    case .heartbeatAnswered(let number): self = .heartbeatAnswered(number: Int(number))
    case .definition(let message): self = .init(message)
    case .launch(let assignment): self = .launch(try Assignment(assignment))
    case .items(let page): self = .items(ItemPage(page))
    case .itemsCommitted(let message):
      self = .itemsCommitted(
        LaunchKey(message.launch), count: Int(message.count), isFrozen: message.isFrozen,
        end: message.hasShardEnd ? message.shardEnd : nil)
    case .committed(let message):
      self = .committed(
        LaunchKey(message.launch), batch: Int(message.batch), end: message.hasShardEnd ? message.shardEnd : nil)
    case .expire(let message): self = .expire(LaunchKey(message.launch), try ExpiryReason(message))
    case .withdraw(let message): self = .withdraw(LaunchKey(message.launch), message.text)
    case .refuse(let message): self = .refuse(LaunchKey(message.launch), message.text)
    case .endingCommitted(let launch): self = .endingCommitted(LaunchKey(launch))
    case .simulate(let message):
      self = .simulate(try ConditionOverrides(message.overrides), lasting: .nanoseconds(message.lasting))
    case .submitted(let message):
      self = .submitted(LaunchKey(message.launch), name: message.name, try LaunchSubmissionAnswer(message))
    case .transfers(let message): self = .transfers(try message.orders.map { try TransferOrder(wire: $0) })
    case nil: throw WireError("a coordinator's message of an unknown kind: is the coordinator newer than this worker?")
    }
  }
}

extension CoordinatorMessage {
  /// A definition that cannot be used becomes a message of its own: it fails the launches that need it, and does not
  /// close the connection.
  private init(_ message: Baton_V1_DefinitionMessage) {
    let id = DefinitionID(message.id)
    do throws(DefinitionProblem) {
      self = .definition(id, try Definition(json: message.json))
    } catch {
      self = .unusableDefinition(id, error)
    }
  }
}

extension String {
  fileprivate func proto(about launch: LaunchKey) -> Baton_V1_LaunchText {
    .with {
      $0.launch = launch.proto
      $0.text = self
    }
  }
}

extension Definition {
  /// The definition as JSON with sorted keys, so that equal definitions have equal bytes.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// Decodes and validates a definition that a peer sent.
  /// - Throws: `DefinitionProblem` if the JSON is larger than 64 KiB, is not a definition, or breaks a rule of
  ///   `validate()`.
  package init(json: Data) throws(DefinitionProblem) {
    guard json.count <= Limits.bytes else { throw .tooLarge }
    do {
      self = try JSONDecoder().decode(Definition.self, from: json)
    } catch let error as DecodingError {
      throw DefinitionProblem(error)
    } catch {
      throw DefinitionProblem("", "cannot be read")
    }
    try validate()
  }
}

extension Assignment {
  var proto: Baton_V1_Assignment {
    .with {
      $0.launch = launch.proto
      $0.identifier = identifier.rawValue
      $0.requestNumber = Int64(requestNumber)
      $0.definition = definition.rawValue
      $0.priority = Int32(priority.rawValue)
      if let payload { $0.payload = Data(payload) }
      $0.batches = Int64(progress.batches)
      if let cursor = progress.cursor { $0.cursor = Data(cursor) }
      $0.completedUnits = progress.completedUnits
      if let total = progress.totalUnits { $0.totalUnits = total }
      if let frozenItems { $0.frozenItems = Int64(frozenItems) }
      $0.isResumption = repeatsBatch
      $0.principal = principal
      $0.traceparent = trace.traceparent
      $0.startedAt = startedAt.nanoseconds
      $0.gpus = gpus.map(Int32.init)
      if let pendingExpiry { $0.pendingExpiry = pendingExpiry.code }
      if let detail = pendingExpiry?.detail { $0.pendingExpiryDetail = detail }
      $0.isSimulated = isSimulated
      $0.transfers = transfers.map(\.wire)
      if let scheduledAt { $0.scheduledAt = scheduledAt.nanoseconds }
      $0.inputs = inputs.map(\.proto)
      if let shard {
        $0.shard = .with {
          $0.index = Int64(shard.index)
          $0.first = shard.first
          if let end = shard.end { $0.end = end }
        }
      }
    }
  }

  init(_ proto: Baton_V1_Assignment) throws {
    guard let trace = TraceContext(traceparent: proto.traceparent),
      let priority = Priority(rawValue: Int(proto.priority))
    else { throw WireError("launch \(LaunchKey(proto.launch)) has no well-formed traceparent or priority") }
    let expiry =
      proto.hasPendingExpiry
      ? try ExpiryReason(proto.pendingExpiry, detail: proto.hasPendingExpiryDetail ? proto.pendingExpiryDetail : nil)
      : nil
    self.init(
      launch: LaunchKey(proto.launch), identifier: try JobIdentifier(wire: proto.identifier),
      requestNumber: Int(proto.requestNumber), definition: DefinitionID(proto.definition), priority: priority,
      payload: proto.hasPayload ? Array(proto.payload) : nil,
      progress: Progress(
        batches: Int(proto.batches), cursor: proto.hasCursor ? Array(proto.cursor) : nil,
        completedUnits: proto.completedUnits, totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil),
      frozenItems: proto.hasFrozenItems ? Int(proto.frozenItems) : nil, repeatsBatch: proto.isResumption,
      principal: proto.principal, trace: trace, startedAt: Timestamp(nanoseconds: proto.startedAt),
      gpus: proto.gpus.map(Int.init), pendingExpiry: expiry, isSimulated: proto.isSimulated)
    transfers = try proto.transfers.map { try TransferEvent(wire: $0) }
    if proto.hasScheduledAt { scheduledAt = Timestamp(nanoseconds: proto.scheduledAt) }
    inputs = try proto.inputs.map(RequestInput.init)
    if proto.hasShard {
      let end = proto.shard.hasEnd ? proto.shard.end : nil
      guard proto.shard.index >= 0, proto.shard.first >= 0, end.map({ $0 >= proto.shard.first }) ?? true else {
        throw WireError("launch \(LaunchKey(proto.launch)) has a shard without a well-formed range")
      }
      shard = Shard(index: Int(proto.shard.index), first: proto.shard.first, end: end)
    }
  }
}
