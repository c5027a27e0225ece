import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonModel
import BatonNotifier
import BatonSettings

extension CoordinatorSetup {
  static let notifyKeys =
    NotificationKind.keys.filter { $0 != .waits }.map { "notify.\($0.rawValue)" }
    + ["notify.waits.after", "notify.waits.to", "notify.giveUpAfter", "receivers"]

  /// The receivers of notifications. What is wrong is noted with its place.
  /// - Returns: how notifications are sent, and the names of all receivers, also of those that are wrong.
  static func notifications(_ file: Settings) -> (NotificationSettings, names: Set<ReceiverName>) {
    var (settings, names) = (NotificationSettings(), Set<ReceiverName>())
    let fields = ["name", "webhook", "secretFile", "certificates", "command", "mail", "from", "sendmail", "timeout"]
    let records = file.records("receivers", fields: fields, lists: ["command"])
    if records.count > mostReceivers {
      file.note("receivers", "has \(records.count) elements; at most \(mostReceivers) are accepted")
    }
    for record in records {
      guard let name = name(record, file) else { continue }
      guard names.insert(name).inserted else {
        file.note("receivers", record, "name", "'\(name)' is in the list twice")
        continue
      }
      settings.receivers[name] = sender(record, name, file)
    }
    if let giveUpAfter = file.duration("notify.giveUpAfter") {
      settings.limits.giveUpAfter = giveUpAfter
      if !triedFor.contains(giveUpAfter) { file.note("notify.giveUpAfter", "must be from 1m to 30d") }
    }
    return (settings, names)
  }

  private static let mostReceivers = 64
  private static let triedFor = Duration.seconds(60)...Duration.seconds(30 * 86_400)
  private static let timeouts = Duration.seconds(1)...Duration.seconds(300)

  /// Whom the fleet tells of what, besides those whom definitions name.
  static func notify(_ file: Settings, _ receivers: Set<ReceiverName>) -> NotifyRule {
    var rule = NotifyRule()
    for kind in NotificationKind.keys where kind != .waits {
      rule[kind] = names("notify.\(kind.rawValue)", file, receivers)
    }
    let after = file.duration("notify.waits.after")
    let told = names("notify.waits.to", file, receivers)
    switch (after, told) {
    case (nil, nil): break
    case (nil, _?): file.note("notify.waits.to", "needs notify.waits.after too, such as 1h")
    case (_?, nil): file.note("notify.waits.after", "needs notify.waits.to too, a list of receivers")
    case (let after?, let told?):
      if !NotifyRule.patience.contains(after) { file.note("notify.waits.after", "must be from 1s to 365d") }
      rule.waits = NotifyRule.Patience(after: after, to: told)
    }
    return rule
  }

  /// A list of receivers; `nil` if there is none, or if something in it is wrong, which is noted.
  private static func names(_ key: String, _ file: Settings, _ receivers: Set<ReceiverName>) -> [ReceiverName]? {
    guard let texts = file.list(key) else { return nil }
    guard NotifyRule.receivers.contains(texts.count), Set(texts).count == texts.count else {
      file.note(key, "must be a list of 1 to \(NotifyRule.receivers.upperBound) different receivers")
      return nil
    }
    let names = texts.map { ReceiverName(trusted: $0) }
    let unknown = names.filter { !receivers.contains($0) }
    guard unknown.isEmpty else {
      let known = receivers.sorted().map(\.rawValue).joined(separator: ", ")
      file.note(
        key, "'\(unknown[0])' is no receiver; " + (known.isEmpty ? "'receivers' lists none" : "there are \(known)"))
      return nil
    }
    return names
  }

  private static func name(_ record: SettingsRecord, _ file: Settings) -> ReceiverName? {
    guard let text = record["name"] else {
      file.note("receivers", record, "name", "needs 'name', such as ops")
      return nil
    }
    let name = ReceiverName(text)
    if name == nil { file.note("receivers", record, "name", "the name of a receiver is \(ReceiverName.rule)") }
    return name
  }

  private static func sender(
    _ record: SettingsRecord, _ name: ReceiverName, _ file: Settings
  ) -> (any NotificationSending)? {
    let timeout = file.duration("receivers", record, "timeout")
    if let timeout, !timeouts.contains(timeout) {
      file.note("receivers", record, "timeout", "'timeout' must be from 1s to 5m")
    }
    let kinds = ["webhook", "command", "mail"].filter { record.list($0) != nil }
    guard kinds.count == 1 else {
      file.note("receivers", record, kinds.last ?? "", "'\(name)' needs one of 'webhook', 'command' and 'mail'")
      return nil
    }
    for (kind, fields) in [("webhook", ["secretFile", "certificates"]), ("mail", ["from", "sendmail"])]
    where kind != kinds[0] {
      for field in fields where record[field] != nil {
        file.note("receivers", record, field, "'\(field)' belongs to '\(kind)', and '\(name)' has '\(kinds[0])'")
      }
    }
    switch kinds[0] {
    case "webhook": return webhook(record, timeout, file)
    case "command": return command(record, timeout, file)
    default: return mail(record, timeout, file)
    }
  }

  private static func webhook(
    _ record: SettingsRecord, _ timeout: Duration?, _ file: Settings
  ) -> (any NotificationSending)? {
    guard let address = WebAddress(record["webhook"] ?? "") else {
      // The text is not repeated: it may contain a password.
      file.note("receivers", record, "webhook", "'webhook' must be an address without a user name: https://HOST/PATH")
      return nil
    }
    let host = address.host.hasPrefix("[") ? String(address.host.dropFirst().dropLast()) : address.host
    guard address.scheme == .https || host.isLoopbackHost else {
      file.note(
        "receivers", record, "webhook", "'webhook' must begin with https://, except on this machine (127.0.0.1)")
      return nil
    }
    guard let path = record["secretFile"] else {
      file.note("receivers", record, "webhook", "a webhook needs 'secretFile', with \(WebhookSecret.rule)")
      return nil
    }
    do {
      guard let content = try PrivateFile.read(path) else {
        file.note("receivers", record, "secretFile", "there is no file \(path); make it, with \(WebhookSecret.rule)")
        return nil
      }
      guard let secret = WebhookSecret(file: content) else {
        file.note("receivers", record, "secretFile", "\(path) must have \(WebhookSecret.rule)")
        return nil
      }
      return try WebhookSender(
        to: address, secret: secret, certificates: record["certificates"],
        timeout: timeout ?? WebhookSender.usualTimeout)
    } catch let error as IdentityError {
      file.note("receivers", record, "secretFile", "\(error)")
    } catch {
      file.note("receivers", record, "certificates", "the certificates cannot be used: \(error)")
    }
    return nil
  }

  private static func command(
    _ record: SettingsRecord, _ timeout: Duration?, _ file: Settings
  ) -> (any NotificationSending)? {
    guard let command = record.list("command"), command.first?.hasPrefix("/") == true,
      !command.joined().contains("\0")
    else {
      file.note(
        "receivers", record, "command",
        "'command' must be the whole path of a program, or a list of it and its arguments")
      return nil
    }
    return CommandSender(command, timeout: timeout ?? CommandSender.usualTimeout)
  }

  private static func mail(
    _ record: SettingsRecord, _ timeout: Duration?, _ file: Settings
  ) -> (any NotificationSending)? {
    for field in ["mail", "from"] {
      guard let text = record[field], !MailText.isAddress(text) else { continue }
      file.note("receivers", record, field, "'\(field)' must be one address, such as ops@example.org")
      return nil
    }
    let sendmail = record["sendmail"] ?? MailSender.usualSendmail
    guard sendmail.hasPrefix("/") else {
      file.note("receivers", record, "sendmail", "'sendmail' must be the whole path of a program")
      return nil
    }
    return MailSender(
      to: record["mail"] ?? "", from: record["from"], sendmail: sendmail,
      timeout: timeout ?? CommandSender.usualTimeout)
  }
}
