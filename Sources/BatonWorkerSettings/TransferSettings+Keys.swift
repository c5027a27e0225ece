import BatonModel
import BatonProcess
import BatonSettings
import BatonTransfers
import BatonWorker

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The keys of worker.yaml that configure the transfers of the host.
extension WorkerSettings {
  static let transferKeys = [
    "transfers.atOnce", "transfers.certificates", "transfers.constrainedNetwork", "transfers.enabled",
    "transfers.folder", "transfers.folders", "transfers.maxRate", "transfers.minFree", "transfers.quota",
    "transfers.servers", "transfers.variables",
  ]

  /// Reads the settings of transfers. A key that is missing or has a wrong value keeps its default; a wrong value is
  /// noted in `settings`.
  /// - Parameter configuration: has the data folder, and the secrets that the owner permits.
  /// - Returns: `nil` if the host has no transfers.
  static func transfers(_ settings: Settings, _ configuration: WorkerConfiguration) -> TransferSettings? {
    let isEnabled = settings.flag("transfers.enabled") ?? true
    // Launches are told the paths of files in the folder, and have working folders of their own.
    let data = configuration.dataFolder
    let folder = data.hasPrefix("/") ? data : FileManager.default.currentDirectoryPath + "/" + data
    var transfers = TransferSettings(folder: folder + "/transfers")
    if let folder = absolutePath("transfers.folder", settings) {
      transfers.folder = folder
      if let problem = transfers.problem { settings.note("transfers.folder", problem) }
    }
    transfers.maxRate = settings.size("transfers.maxRate")
    if let quota = settings.size("transfers.quota") { transfers.quota = quota }
    if let minFree = settings.size("transfers.minFree", allowsZero: true) { transfers.minFree = minFree }
    if let atOnce = settings.number("transfers.atOnce", in: 1...100) { transfers.atOnce = atOnce }
    transfers.folders = paths("transfers.folders", settings) ?? []
    transfers.servers = servers(settings)
    transfers.variablePermissions = variables(settings)
    transfers.secrets = configuration.sandbox.secretFolder
    transfers.secretPermissions = configuration.sandbox.secrets ?? []
    transfers.isConstrained = settings.flag("transfers.constrainedNetwork") ?? false
    transfers.trustedCertificates = absolutePath("transfers.certificates", settings)
    return isEnabled ? transfers : nil
  }

  private static func absolutePath(_ key: String, _ settings: Settings) -> String? {
    guard let path = settings.text(key) else { return nil }
    if path.hasPrefix("/") { return path }
    settings.note(key, "must be an absolute path, not '\(path)'")
    return nil
  }

  private static func servers(_ settings: Settings) -> [String]? {
    let key = "transfers.servers"
    return settings.list(key)?.compactMap { text in
      let name = text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
      guard let address = WebAddress("http://\(name)"), address.host == name.lowercased(), address.path == "/" else {
        settings.note(key, "'\(text)' is not the name of a server, nor one that begins with '*.': no port, and no path")
        return nil
      }
      return text.lowercased()
    }
  }

  private static func variables(_ settings: Settings) -> [SecretPermission] {
    let key = "transfers.variables"
    return (settings.mapping(key) ?? [:]).sorted { $0.key < $1.key }.compactMap { name, text in
      guard TransferHeader.isVariable(name), let pattern = SecretPattern(name) else {
        settings.note(key, "'\(name)' is not the name of an environment variable: letters, digits and '_'")
        return nil
      }
      let names = text.split(separator: " ").map(String.init)
      let identifiers = names.compactMap { name in
        let identifier = IdentifierPattern(name)
        if identifier == nil { settings.note(key, "'\(name)' is not an identifier, nor one followed by '.*'") }
        return identifier
      }
      if names.isEmpty { settings.note(key, "'\(name)' has no identifiers; write {\(name): com.example.fetch.*}") }
      return SecretPermission(files: pattern, identifiers: identifiers)
    }
  }
}
