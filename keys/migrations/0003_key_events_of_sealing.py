from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('keys', '0002_key_event'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='keyevent',
            name='keys_event_action_known',
        ),
        migrations.AlterField(
            model_name='keyevent',
            name='action',
            field=models.CharField(choices=[('staged', 'staged'), ('certified', 'certified'), ('activated', 'activated'), ('retired', 'retired'), ('withdrawn', 'withdrawn'), ('exported', 'all keys exported'), ('imported', 'all keys imported'), ('resealed', 'everything sealed anew'), ('forgotten', 'values under a lost sealing key emptied')], editable=False, max_length=9, verbose_name='what'),
        ),
        migrations.AddConstraint(
            model_name='keyevent',
            constraint=models.CheckConstraint(condition=models.Q(('action__in', ['staged', 'certified', 'activated', 'retired', 'withdrawn', 'exported', 'imported', 'resealed', 'forgotten'])), name='keys_event_action_known'),
        ),
    ]
