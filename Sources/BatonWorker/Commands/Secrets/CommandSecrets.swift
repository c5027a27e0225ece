import BatonModel
import BatonProcess

/// The secrets of one launch, as they were read from the host at its start.
struct CommandSecrets: Sendable {
  private struct Value {
    var name: String
    var secret: Secret
    var bytes: [UInt8]
  }

  /// Those that the command gets by descriptor, and those that it gets by a variable, in the order of their names.
  private var descriptors: [Value] = []
  private var variables: [Value] = []
  let redaction: Redaction

  /// - Throws: `CommandError` with the code `.secretUnavailable`, which names the file of the secret.
  init(of work: Work, in folder: SecretFolder, on host: HostName) throws(CommandError) {
    for (name, secret) in work.sortedSecrets {
      let value = Value(name: name, secret: secret, bytes: try Self.read(name, secret, in: folder, on: host))
      switch secret.form ?? .descriptor {
      case .descriptor: descriptors.append(value)
      case .environment: variables.append(value)
      }
    }
    redaction = Redaction((descriptors + variables).map(\.bytes))
  }

  private static func read(
    _ name: String, _ secret: Secret, in folder: SecretFolder, on host: HostName
  ) throws(CommandError) -> [UInt8] {
    func problem(_ what: String) -> CommandError {
      CommandError(.secretUnavailable, "\(host) cannot give the secret \(name): \(what)")
    }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try folder.read(secret.file)
    } catch {
      throw problem("\(error)")
    }
    guard secret.form == .environment else { return bytes }
    if bytes.contains(0) {
      throw problem("\(secret.file) has a NUL character, which no variable can have: leave 'as: environment' out")
    }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw problem("\(secret.file) is not UTF-8, which Baton needs for a variable: leave 'as: environment' out")
    }
    return bytes
  }

  var isEmpty: Bool { descriptors.isEmpty && variables.isEmpty }

  /// The variables of the command: values, and numbers of descriptors.
  var environment: [String: String] {
    var environment: [String: String] = [:]
    for value in variables { environment[value.name] = String(decoding: value.bytes, as: UTF8.self) }
    for (index, value) in descriptors.enumerated() {
      environment[value.secret.variable(for: value.name)] = String(Int(PassedDescriptor.firstSecret) + index)
    }
    return environment
  }

  /// The descriptors for one process. They are made for each process, because processes that share a descriptor share
  /// its offset too.
  func passed() throws -> [PassedDescriptor] {
    try descriptors.enumerated().map { index, value in
      PassedDescriptor(try .sealed(value.bytes), as: PassedDescriptor.firstSecret + Int32(index))
    }
  }
}

extension Redaction {
  /// The error without the values of secrets. It is the error itself if it contains none.
  func redacted(_ error: any Error) -> any Error {
    let text = String(describing: error)
    let redacted = redacted(text)
    guard redacted != text else { return error }
    guard let error = error as? CommandError else { return CommandError(.host, redacted) }
    return CommandError(error.code, redacted, type: self.redacted(error.type))
  }
}
