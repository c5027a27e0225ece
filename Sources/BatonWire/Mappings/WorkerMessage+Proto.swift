package import BatonModel
package import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension WorkerMessage {
  package var proto: Baton_V1_WorkerMessage {
    var proto = Baton_V1_WorkerMessage()
    switch self {
    case .hello(let hello): proto.hello = hello.proto
    case .heartbeat(let number): proto.heartbeat = Int64(number)
    case .conditions(let conditions): proto.conditions = conditions.proto
    case .items(let page): proto.items = page.proto
    case .itemsWanted(let launch, let start, let count):
      proto.itemsWanted = .with {
        $0.launch = launch.proto
        $0.start = Int64(start)
        $0.count = Int32(count)
      }
    case .checkpoint(let checkpoint): proto.checkpoint = checkpoint.proto
    case .update(let update): proto.update = update.proto
    case .output(let chunk):
      proto.output = .with {
        $0.launch = chunk.launch.proto
        $0.data = Data(chunk.bytes)
      }
    case .expiring(let launch, let reason): proto.expiring = reason.proto(of: launch)
    case .overran(let launch, let reason):
      proto.expiring = reason.proto(of: launch)
      proto.expiring.isOverrun = true
    case .ended(let ending): proto.ended = ending.proto
    case .draining: proto.draining = Baton_V1_Empty()
    case .transfers(let report): proto.transfers = report.proto
    case .submission(let launch, let submission): proto.submission = submission.proto(of: launch)
    }
    return proto
  }

  package init(_ proto: Baton_V1_WorkerMessage) throws {
    switch proto.kind {
    case .hello(let hello): self = .hello(try Hello(hello))
    case .heartbeat(let number): self = .heartbeat(number: Int(number))
    case .conditions(let conditions): self = .conditions(Conditions(conditions))
    case .items(let page): self = .items(ItemPage(page))
    case .itemsWanted(let wanted):
      self = .itemsWanted(LaunchKey(wanted.launch), start: Int(wanted.start), count: Int(wanted.count))
    case .checkpoint(let checkpoint): self = .checkpoint(try Checkpoint(checkpoint))
    case .update(let update): self = .update(LaunchUpdate(update))
    case .output(let chunk): self = .output(OutputChunk(launch: LaunchKey(chunk.launch), bytes: Array(chunk.data)))
    case .expiring(let expiring):
      let (launch, reason) = (LaunchKey(expiring.launch), try ExpiryReason(expiring))
      self = expiring.isOverrun ? .overran(launch, reason) : .expiring(launch, reason)
    case .ended(let ending): self = .ended(try Ending(ending))
    case .draining: self = .draining
    case .transfers(let report): self = .transfers(try TransferReport(report))
    case .submission(let message): self = .submission(LaunchKey(message.launch), try LaunchSubmission(message))
    case nil: throw WireError("a worker's message of an unknown kind: is the worker newer than this coordinator?")
    }
  }
}

extension Hello {
  var proto: Baton_V1_Hello {
    .with {
      $0.host = host.rawValue
      $0.incarnation = incarnation.rawValue
      $0.version = version
      $0.capabilities = capabilities.proto
      $0.conditions = conditions.proto
      $0.running = running.map { running in
        .with {
          $0.launch = running.launch.proto
          $0.gpus = running.gpus.map(Int32.init)
        }
      }
      if let last = receipts.last { $0.receipt = last.proto }
      $0.earlierReceipts = receipts.dropLast().map(\.proto)
      if let secret { $0.secret = Data(secret) }
    }
  }

  init(_ proto: Baton_V1_Hello) throws {
    self.init(
      host: HostName(proto.host), incarnation: Incarnation(proto.incarnation), version: proto.version,
      capabilities: try Capabilities(proto.capabilities), conditions: Conditions(proto.conditions),
      running: proto.running.map { RunningLaunch(launch: LaunchKey($0.launch), gpus: $0.gpus.map(Int.init)) },
      receipts: proto.earlierReceipts.map(Receipt.init) + (proto.hasReceipt ? [Receipt(proto.receipt)] : []),
      secret: proto.hasSecret ? Array(proto.secret) : nil)
  }
}

extension Capabilities {
  package var proto: Baton_V1_Capabilities {
    .with {
      $0.slots = Int32(slots)
      $0.kinds = kinds.map(\.rawValue).sorted()
      $0.handlers = handlers.map(\.rawValue)
      $0.runsCommands = runsCommands
      $0.permittedIdentifiers = permittedIdentifiers.map(\.rawValue)
      if let dailyAllowance { $0.dailyAllowance = dailyAllowance.nanoseconds }
      if let sandbox { $0.sandbox = sandbox.proto }
      if let permissions { $0.permissions = permissions.proto }
      $0.runsShards = runsShards == true
      $0.runsTransfers = runsTransfers == true
    }
  }

  package init(_ proto: Baton_V1_Capabilities) throws {
    self.init(
      slots: Int(proto.slots), kinds: Set(proto.kinds.compactMap(JobKind.init)),
      handlers: try proto.handlers.map { try IdentifierPattern(wire: $0) }, runsCommands: proto.runsCommands,
      permittedIdentifiers: try proto.permittedIdentifiers.map { try IdentifierPattern(wire: $0) },
      dailyAllowance: proto.hasDailyAllowance ? .nanoseconds(proto.dailyAllowance) : nil,
      sandbox: proto.hasSandbox ? try HostSandbox(proto.sandbox) : nil,
      permissions: proto.hasPermissions ? try CommandPermissions(proto.permissions) : nil,
      runsShards: proto.runsShards ? true : nil)
    if proto.runsTransfers { runsTransfers = true }
  }
}

extension HostSandbox {
  fileprivate var proto: Baton_V1_Sandbox {
    .with {
      $0.required = required.map { min($0, .basic) }?.rawValue ?? ""
      $0.available = available.map { min($0, .basic) }?.rawValue ?? ""
      $0.problem = problem
      if let required, required > .basic { $0.requiredLevel = required.rawValue }
      if let available, available > .basic { $0.availableLevel = available.rawValue }
    }
  }

  fileprivate init(_ proto: Baton_V1_Sandbox) throws(WireError) {
    self.init(
      required: try Self.level(proto.requiredLevel.isEmpty ? proto.required : proto.requiredLevel),
      available: try Self.level(proto.availableLevel.isEmpty ? proto.available : proto.availableLevel),
      problem: proto.problem)
  }

  /// A level that this version does not know is an error: to take it for none would promise too much.
  private static func level(_ text: String) throws(WireError) -> SandboxLevel? {
    guard !text.isEmpty else { return nil }
    guard let level = SandboxLevel(rawValue: text) else {
      throw WireError("'\(text.escapedOnOneLine)' is not a level of the sandbox")
    }
    return level
  }
}

extension CommandPermissions {
  fileprivate var proto: Baton_V1_Permissions {
    .with {
      $0.limitsCommands = commands != nil
      $0.commands = (commands ?? []).map(\.rawValue)
      $0.limitsDirectories = directories != nil
      $0.directories = (directories ?? []).map(\.rawValue)
      $0.forbidsNetwork = !network
      $0.forbidsCommands = !runsCommands
      $0.secrets = (secrets ?? []).map(\.proto)
      $0.users = users ?? []
      $0.switchesUsers = users != nil
      $0.limitsPrincipals = principals != nil
      $0.principals = (principals ?? []).map(\.rawValue)
    }
  }

  fileprivate init(_ proto: Baton_V1_Permissions) throws {
    self.init(
      commands: proto.limitsCommands ? try Self.patterns(proto.commands) : nil,
      directories: proto.limitsDirectories ? try Self.patterns(proto.directories) : nil, network: !proto.forbidsNetwork,
      runsCommands: !proto.forbidsCommands,
      secrets: proto.secrets.isEmpty ? nil : try proto.secrets.map(SecretPermission.init),
      users: proto.switchesUsers ? proto.users : nil,
      principals: proto.limitsPrincipals ? try Self.principals(proto.principals) : nil)
  }

  private static func principals(_ texts: [String]) throws(WireError) -> [PrincipalPattern] {
    var patterns: [PrincipalPattern] = []
    for text in texts {
      guard let pattern = PrincipalPattern(text) else {
        throw WireError("'\(text.escapedOnOneLine)' is not a pattern of principals")
      }
      patterns.append(pattern)
    }
    return patterns
  }

  private static func patterns(_ texts: [String]) throws(WireError) -> [PathPattern] {
    var patterns: [PathPattern] = []
    for text in texts {
      guard let pattern = PathPattern(text) else {
        throw WireError("'\(text.escapedOnOneLine)' is not a pattern of an absolute path")
      }
      patterns.append(pattern)
    }
    return patterns
  }
}

extension SecretPermission {
  fileprivate var proto: Baton_V1_SecretPermission {
    .with {
      $0.files = files.rawValue
      $0.identifiers = identifiers.map(\.rawValue)
    }
  }

  fileprivate init(_ proto: Baton_V1_SecretPermission) throws {
    guard let files = SecretPattern(proto.files) else {
      throw WireError("'\(proto.files.escapedOnOneLine)' is not a pattern of files of secrets")
    }
    self.init(files: files, identifiers: try proto.identifiers.map { try IdentifierPattern(wire: $0) })
  }
}

extension Checkpoint {
  var proto: Baton_V1_Checkpoint {
    .with {
      $0.launch = launch.proto
      $0.batch = Int64(batch)
      if let cursor { $0.cursor = Data(cursor) }
      $0.completedUnits = completedUnits
      if let totalUnits { $0.totalUnits = totalUnits }
      if let subtitle { $0.subtitle = subtitle }
      $0.reachesEnd = reachesEnd
      $0.isEndOnly = isEndOnly
      $0.transfers = transfers.map(\.wire)
      if let result { $0.result = Data(result.json) }
    }
  }

  init(_ proto: Baton_V1_Checkpoint) throws {
    self.init(
      launch: LaunchKey(proto.launch), batch: Int(proto.batch), cursor: proto.hasCursor ? Array(proto.cursor) : nil,
      completedUnits: proto.completedUnits, totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil,
      subtitle: proto.hasSubtitle ? proto.subtitle : nil, reachesEnd: proto.reachesEnd,
      isEndOnly: proto.isEndOnly)
    try WireLimits.transfers.check(proto.transfers.count)
    transfers = try proto.transfers.map { try Transfer(wire: $0) }
    if proto.hasResult { result = try JobResult(wire: proto.result) }
  }
}

extension LaunchUpdate {
  var proto: Baton_V1_LaunchUpdate {
    .with {
      $0.launch = launch.proto
      if let title { $0.title = title }
      if let subtitle { $0.subtitle = subtitle }
      if let completedUnits { $0.completedUnits = completedUnits }
      if let totalUnits { $0.totalUnits = totalUnits }
    }
  }

  init(_ proto: Baton_V1_LaunchUpdate) {
    self.init(
      launch: LaunchKey(proto.launch), title: proto.hasTitle ? proto.title : nil,
      subtitle: proto.hasSubtitle ? proto.subtitle : nil,
      completedUnits: proto.hasCompletedUnits ? proto.completedUnits : nil,
      totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil)
  }
}

extension Ending {
  var proto: Baton_V1_Ending {
    .with {
      $0.launch = launch.proto
      $0.outcome = outcome.code
      $0.isGraceful = isGraceful
      switch outcome {
      case .finished, .lost: break
      case .failed(let text): $0.text = text
      case .expired(let reason):
        $0.text = reason.code
        if let detail = reason.detail { $0.detail = detail }
      }
      if let result { $0.result = result.rawValue }
      if let errorType { $0.errorType = errorType }
    }
  }

  init(_ proto: Baton_V1_Ending) throws {
    let outcome: LaunchOutcome
    switch proto.outcome {
    case "finished": outcome = .finished
    case "failed": outcome = .failed(proto.text)
    case "lost": outcome = .lost
    case "expired": outcome = .expired(try ExpiryReason(proto.text, detail: proto.hasDetail ? proto.detail : nil))
    default: throw WireError("unknown outcome '\(proto.outcome)' of a launch")
    }
    self.init(
      launch: LaunchKey(proto.launch), outcome: outcome, isGraceful: proto.isGraceful,
      result: proto.hasResult ? RefreshResult(rawValue: proto.result) : nil,
      errorType: proto.hasErrorType ? proto.errorType : nil)
  }
}

extension ItemPage {
  var proto: Baton_V1_ItemPage {
    .with {
      $0.launch = launch.proto
      $0.start = Int64(start)
      $0.items = items
      $0.isLast = isLast
    }
  }

  init(_ proto: Baton_V1_ItemPage) {
    self.init(launch: LaunchKey(proto.launch), start: Int(proto.start), items: proto.items, isLast: proto.isLast)
  }
}
